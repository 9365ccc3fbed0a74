import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../', import.meta.url))

/**
 * A module of the sources that the package does not export.
 * @param {string} path
 * @returns {Promise<unknown>}
 */
export async function internal(path) {
  const build = await rolldown({ input: `${root}src/${path}`, platform: 'node', external: /^[^./]/ })
  const file = `${root}.cache/bench/${path.replace(/\W/g, '-')}.js`
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return import(pathToFileURL(file).href)
}
