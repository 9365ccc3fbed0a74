import { posix, resolve } from 'node:path'
import { ENTRY_POINTS, root, STARTED } from './entries.js'

const REFERENCE = /new URL\('([^']+)', import\.meta\.url\)/g
const MARK = 'chronos-dist:'

/** Paths from `dist`, by the path that a source names. */
const BUILT = new Map([
  ['package.json', '../package.json'],
  ['src/dashboard', 'dashboard/'],
  ...Object.entries({ ...ENTRY_POINTS, ...STARTED }).map(
    ([name, source]) => /** @type {[string, string]} */ ([source.replace(/\.ts$/, '.js'), `${name}.js`]),
  ),
])

/**
 * A source names a file beside it with `new URL('./thread.js', import.meta.url)`. The package has that file elsewhere,
 * and the way there depends on the chunk that contains the code.
 * @returns {import('rolldown').Plugin}
 */
export function beside() {
  return {
    name: 'beside',
    transform(code, id, { magicString }) {
      if (!id.startsWith(`${root}src/`) || !code.includes('import.meta.url') || !magicString) return
      for (const { 0: text, 1: path = '', index } of code.matchAll(REFERENCE)) {
        const built = BUILT.get(posix.relative(root, resolve(id, '..', path)))
        if (built === undefined) throw new Error(`${id}: ${path} is not in the package; add it to build/entries.js`)
        magicString.overwrite(index, index + text.length, `new URL('${MARK}${built}', import.meta.url)`)
      }
      return { code: magicString }
    },
    renderChunk(code, chunk, _options, { magicString }) {
      if (!code.includes(MARK) || !magicString) return
      magicString.replaceAll(MARK, `${posix.relative(posix.dirname(chunk.fileName), '.') || '.'}/`)
      return { code: magicString }
    },
  }
}
