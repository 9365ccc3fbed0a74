import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/tree.js'
import { readResult } from '../result.js'
import { SCENARIOS } from '../scenarios.js'
import { PAGE_PATH, pageOf } from './page.js'
import { HELD_BY } from './text.js'

describe('docs/reliability.md', () => {
  it('is what npm run chaos -- --write-docs makes of test/chaos/result.json', () => {
    expect(readFileSync(PAGE_PATH, 'utf8')).toBe(pageOf(readResult()))
  })

  it('reports no run that broke a promise or did not reach its coverage', () => {
    const { outcomes } = readResult()
    expect(outcomes.flatMap(({ violations, missing }) => [...violations, ...missing])).toEqual([])
  })

  it('names every scenario, also those without a result', () => {
    const page = readFileSync(PAGE_PATH, 'utf8')
    expect(SCENARIOS.filter(({ name }) => !page.includes(name))).toEqual([])
  })

  it.each(HELD_BY)('%s: its tests exist', (_promise, tests) => {
    expect(tests.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
  })
})
