import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/tree.js'
import { readResult } from '../result.js'
import { SCENARIOS } from '../scenarios.js'
import { PAGE_PATH, pageOf } from './page.js'
import { HELD_BY } from './text.js'
import { countWords, sizeWords } from './words.js'

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

  it.each([
    ['kills', 500, '500 kills'],
    ['kills', 1, '1 kill'],
    ['everyStatement', 1, 'before every statement'],
    ['everyStatement', 8, 'before one statement in 8'],
    ['crashEverySeconds', 60, 'a crash every 60 seconds'],
    ['crashEverySeconds', 1, 'a crash every second'],
    ['usedPercent', 97, 'at least 97 % of the rate used'],
    ['abort', 10, '10 aborting jobs'],
    ['names', 100_000, '100,000 names'],
  ])('says a size in words: %s %i', (name, size, words) => {
    expect(sizeWords(name, size)).toBe(words)
  })

  it('says no size by the name of a variable', () => {
    const all = SCENARIOS.flatMap(({ full, slice }) => [...Object.entries(full), ...Object.entries(slice)])
    expect(all.map(([name, size]) => sizeWords(name, size)).filter(words => /[a-z][A-Z]/.test(words))).toEqual([])
  })

  it.each([
    ['/api/v1/queues, ms', 781, '/api/v1/queues 781 ms'],
    ['memory of the server, MB', 1_250, 'memory of the server 1,250 MB'],
    ['used of the rate, %', 98, 'used of the rate 98 %'],
    ['jobs redriven', 2, '2 jobs redriven'],
    ['jobs redriven', 1, '1 job redriven'],
    ['at-most-once jobs with an unknown outcome', 1, '1 at-most-once job with an unknown outcome'],
    ['server crashes', 1, '1 server crash'],
    ['processes killed', 1, '1 process killed'],
    ['bodies answered 413', 1, '1 body answered 413'],
    ['bodies answered closed', 16, '16 bodies whose connection was closed'],
    ['bystander: succeeded', 1, '1 harmless job: succeeded'],
    ['memory: dead (poison)', 10, '10 memory-consuming jobs: dead (poison)'],
  ])('says what happened in words: %s %i', (what, count, words) => {
    expect(countWords(what, count)).toBe(words)
  })
})
