import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadDefinitions } from '../../../src/cli/service/definitions.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-jobs-'))
  const job = (name: string): string =>
    `{ name: '${name}', queue: 'q', delivery: 'at-least-once', timeoutMs: 1, handler() {} }`
  const put = (name: string, content: string): void => writeFileSync(join(folder, name), content)
  put('named.mjs', `export const a = ${job('a')}; export const b = ${job('b')}; export const other = { name: 'x' }`)
  put('default.mjs', `const a = ${job('a')}; export default a; export { a }`)
  put('list.mjs', `export default [${job('a')}, ${job('b')}, null, 'c']`)
  put('none.mjs', 'export const answer = 42')
  put('broken.mjs', 'export const a = 1\nexport const b = {')
  put('throws.mjs', "throw new Error('no database')")
  put('lost.mjs', "import './nowhere.mjs'")
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const names = async (...paths: readonly string[]): Promise<readonly string[]> =>
  (await loadDefinitions(paths, folder)).map(({ name }) => name)

describe('the jobs of a module', () => {
  it.each([
    ['by name', ['named.mjs'], ['a', 'b']],
    ['as its default, once', ['default.mjs'], ['a']],
    ['in an array', ['list.mjs'], ['a', 'b']],
    ['from several modules', ['./named.mjs', './default.mjs'], ['a', 'b', 'a']],
    ['from none', [], []],
  ])('are found %s', async (_, paths, found) => {
    expect(await names(...paths)).toEqual(found)
  })

  it.each([
    ['gone.mjs', /no file gone\.mjs/],
    ['none.mjs', /none\.mjs exports no job definition; export one/],
    ['broken.mjs', /cannot load broken\.mjs: /],
    ['throws.mjs', /cannot load throws\.mjs: no database/],
    ['lost.mjs', /cannot load lost\.mjs: .*nowhere\.mjs/],
  ])('cannot be loaded from %s, with a reason', async (path, words) => {
    await expect(names(path)).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringMatching(words) })
  })
})
