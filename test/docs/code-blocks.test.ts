import { describe, expect, it } from 'vitest'
import { readFiles } from '../support/tree.js'
import { type Block, blocksOf, compile } from './code-blocks.js'

const PAGES = readFiles(/\.md$/, ['README.md', 'docs', 'deploy'])
const BLOCKS = blocksOf(PAGES).filter(({ page }) => !page.startsWith('docs/decisions/'))
const isCode = ({ language }: Block) => language === 'ts' || language === 'js'

describe('code blocks of the documentation', () => {
  it('are found', () => {
    expect(blocksOf({ 'a.md': 'one\n\n```ts\nconst a = 1\n```\n' })).toEqual([
      { page: 'a.md', line: 4, language: 'ts', code: 'const a = 1\n' },
    ])
    expect(BLOCKS.filter(isCode).length).toBeGreaterThan(40)
  })

  it('compile with the types of the package', async () => {
    expect(await compile(BLOCKS.filter(isCode))).toEqual([])
  })

  it('are really compiled', async () => {
    const wrong = [
      'chronos.enqeue("mail", {})',
      "import { nothing } from 'chronos-jobs'",
      "defineJob({ name: 'a', timeout: true, run() {} })",
      'const a = )',
    ]
    for (const [line, code] of wrong.entries()) {
      const problems = await compile([{ page: 'wrong.md', line, language: 'ts', code }])
      expect(problems, code).toEqual([expect.stringMatching(new RegExp(`^wrong\\.md:${line} error TS`))])
    }
    const own = { page: 'own.md', line: 1, language: 'ts', code: "import { pay } from './pay.js'\npay(order)" }
    expect(await compile([own])).toEqual([])
  })

  it('can be parsed if they are JSON', () => {
    const json = BLOCKS.filter(({ language }) => language === 'json')
    expect(json.length).toBeGreaterThan(0)
    for (const { page, line, code } of json) expect(() => JSON.parse(code), `${page}:${line}`).not.toThrow()
  })
})
