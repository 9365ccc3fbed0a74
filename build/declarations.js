import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, posix } from 'node:path'
import { ENTRY_POINTS, root } from './entries.js'

const COMPILED = `${root}.cache/types/`
const SPECIFIER = /((?:from|import\() ?['"])(\.{1,2}\/[^'"]+)\.js(?=['"])/g

/** Writes the declarations of the entry points and of every file that these name, for `import` and for `require`. */
export function writeDeclarations() {
  const named = new Set(Object.values(ENTRY_POINTS).map(declarationOf))
  for (const path of named) {
    const text = readFileSync(COMPILED + path, 'utf8')
    for (const [, , to = ''] of text.matchAll(SPECIFIER)) named.add(posix.join(posix.dirname(path), `${to}.d.ts`))
    write(`types/${path}`, text)
  }
  for (const [name, source] of Object.entries(ENTRY_POINTS)) {
    write(`${name}.d.ts`, `export * from './types/${source.replace(/\.ts$/, '.js')}'\n`)
  }
}

const declarationOf = (/** @type {string} */ source) => source.replace(/\.ts$/, '.d.ts')

/** @param {string} path @param {string} text */
function write(path, text) {
  const file = `${root}dist/${path}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  writeFileSync(file.replace(/\.d\.ts$/, '.d.cts'), text.replace(SPECIFIER, '$1$2.cjs'))
}
