import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'

const FOLDER = new URL('../../src/core/', import.meta.url)
/** By path below `src/core`: `job/lifecycle.ts`. */
const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .map(path => path.replaceAll('\\', '/'))
  .filter(path => path.endsWith('.ts'))
  .map(name => ({ name, text: withoutComments(readFileSync(new URL(name, FOLDER), 'utf8')) }))

function withoutComments(text: string): string {
  return text.replace(/\/\*.*?\*\/|^\s*\/\/[^\n]*$/gms, '')
}

/** `import … from 'x'` and `export … from 'x'`; those of types only have no effect at run time. */
function importsOf(text: string): readonly { readonly from: string; readonly typeOnly: boolean }[] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s+)?(?:\{[^}]*\}|[^'"{};]*)\s*from\s+'([^']+)'/gm)
  return [...statements].map(([, type, from]) => ({ from: from!, typeOnly: type !== undefined }))
}

function resolved(name: string, from: string): string {
  return posix.join(posix.dirname(name), from).replace(/\.js$/, '.ts')
}

describe('the core is pure', () => {
  it('is read from every folder', () => {
    expect(sources.map(({ name }) => name)).toEqual(expect.arrayContaining(['job/lifecycle.ts', 'policy/policy.ts']))
  })

  it.each(sources)('$name imports nothing outside of it', ({ name, text }) => {
    const isOwn = (from: string) =>
      from.startsWith('.') ? !resolved(name, from).startsWith('..') : name === 'schedule/cron.ts' && from === 'croner'
    const outside = importsOf(text).filter(({ from }) => !isOwn(from))
    expect(outside.filter(({ from, typeOnly }) => !(typeOnly && from === '@standard-schema/spec'))).toEqual([])
  })

  it.each(sources)('$name uses no clock, no randomness and no I/O', ({ text }) => {
    expect(text).not.toMatch(
      /Date\.now|new Date\(\)|Math\.random|performance\.|setTimeout|setInterval|process\.|globalThis|fetch\(|Buffer\b/,
    )
  })

  it('has no import cycle', () => {
    const next = new Map(
      sources.map(({ name, text }) => [
        name,
        importsOf(text)
          .filter(({ typeOnly }) => !typeOnly)
          .map(({ from }) => resolved(name, from)),
      ]),
    )
    const visit = (name: string, path: readonly string[]): void => {
      expect(path, `${[...path, name].join(' → ')}`).not.toContain(name)
      for (const to of next.get(name) ?? []) visit(to, [...path, name])
    }
    for (const name of next.keys()) visit(name, [])
  })
})
