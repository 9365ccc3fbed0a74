import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../src/engine/time/virtual.js'
import { memoryStore } from '../../src/store/memory.js'
import { compile, liveMany, liveThese, type Report, ROOT } from './children.js'
import { missing } from './coverage.js'
import { simulate, story } from './simulate.js'
import { VERBS } from './verbs.js'

interface KeptSeed {
  readonly seed: number
  /** The violations that it found. */
  readonly note: string
}

const KEPT = JSON.parse(readFileSync(new URL('../seeds.json', import.meta.url), 'utf8')) as readonly KeptSeed[]
const LIVES = 200

/**
 * The folder is inside the repository, so that the compiled code finds its packages. Two test runs may use it at
 * once.
 */
const compiled = join(ROOT, '.cache', 'simulation-test', `${process.pid}`)

beforeAll(() => compile(compiled))
afterAll(() => rmSync(compiled, { recursive: true, force: true }))

function expectUnbroken({ broken }: Report): void {
  expect(
    broken.map(({ seed }) => seed),
    broken.flatMap(one => one.story ?? []).join('\n\n'),
  ).toEqual([])
}

describe(`${LIVES} seeds under faults`, () => {
  let report: Report

  beforeAll(async () => {
    report = await liveMany(compiled, 1, LIVES)
  }, 900_000)

  it('keep every promise', () => expectUnbroken(report))

  it('reached every kind of event often enough', () => {
    expect(report.lived).toBe(LIVES)
    expect(missing(report.coverage, LIVES)).toEqual([])
  })
})

it('recorded seeds that once broke a promise break none', async () => {
  const report = await liveThese(
    compiled,
    KEPT.map(({ seed }) => seed),
  )
  expect(report.lived).toBe(KEPT.length)
  expectUnbroken(report)
})

describe('the simulation', () => {
  it.each([2, 5, 11])('repeats seed %i exactly, event by event', async seed => {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    expect(first.trace.length).toBeGreaterThan(50)
    expect(second.trace.hash()).toBe(first.trace.hash())
    expect(second.events).toBe(first.events)
  })

  it('disturbs every verb of a store', () => {
    const store = memoryStore({ clock: new VirtualClock() })
    const verbs = Object.keys(store).filter(name => !['kind', 'watch', 'pulse'].includes(name))
    expect(Object.keys(VERBS).sort()).toEqual(verbs.sort())
  })

  it('reports a broken seed so that it can be replayed', async () => {
    const life = await simulate(7)
    const broken = { ...life, violations: [{ promise: 'a key is one job', what: 'it was two' }] as const }
    expect(story(broken)).toMatch(/^Seed 7 .*\n {2}✗ a key is one job\n {4}it was two\n(.*\n)+.*--seed 7$/)
  })
})
