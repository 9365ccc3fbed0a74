import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../', import.meta.url))

/** @typedef {Readonly<Record<string, string>>} Entries Source files by the name of the built one, without extension. */

/**
 * Entry points whose source is not `src/<name>.ts`.
 * @type {Entries}
 */
const ELSEWHERE = { conformance: 'test/store/conformance/index.ts' }

const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

/** The entry points, from `exports` in package.json: the one place that lists them. */
export const ENTRY_POINTS = entryPointsOf(manifest.exports)

const installed = Object.keys({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.peerDependencies,
})

/** Whether an import is part of Node, or of a package that is installed with this one. Any other becomes part of it. */
export const isInstalled = (/** @type {string} */ id) =>
  id.startsWith('node:') || installed.some(name => id === name || id.startsWith(`${name}/`))

/**
 * What the package starts as a process or a thread.
 * @type {Entries}
 */
export const STARTED = {
  cli: 'src/cli/main.ts',
  'crash-worker': 'src/cli/commands/demo/crash-worker.ts',
  'handler-thread': 'src/engine/threads/thread.js',
  'postgres-thread': 'src/store/postgres/connection/thread.js',
  'sqlite-thread': 'src/store/sqlite/file/thread.js',
}

/** @param {Readonly<Record<string, string | { require: string }>>} exports @returns {Entries} */
function entryPointsOf(exports) {
  const files = Object.values(exports).flatMap(target => (typeof target === 'string' ? [] : [target.require]))
  return Object.fromEntries(
    files.map(file => {
      const [, name = ''] = /^\.\/dist\/([a-z-]+)\.cjs$/.exec(file) ?? []
      const source = ELSEWHERE[name] ?? `src/${name}.ts`
      if (!existsSync(root + source)) throw new Error(`package.json: exports names ${file}, but there is no ${source}`)
      return [name, source]
    }),
  )
}
