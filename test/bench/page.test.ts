import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { PAGE_PATH, pageOf } from '../../bench/page/page.js'
import { merged, readResult } from '../../bench/page/result.js'
import { plan } from '../../bench/plan.js'

const PLAN = plan({ quick: false })
const SOME = { at: '2026-01-01T00:00:00.000Z', size: 'full', rounds: 3, machine: 'a machine' } as const

const spread = (median: number) => ({ median, min: median, max: median })
const report = (name: string, lanes: Readonly<Record<string, number>>) => ({
  name,
  about: '',
  verdicts: [],
  lanes: Object.entries(lanes).map(([label, value]) => ({ label, figures: { perSecond: spread(value) } })),
})

describe('docs/benchmarks.md', () => {
  it('is what npm run bench -- --write-docs makes of bench/page/result.json', () => {
    expect(readFileSync(PAGE_PATH, 'utf8')).toBe(pageOf(readResult(), PLAN))
  })

  it('names every measurement of the plan, also those without a result', () => {
    const page = pageOf({ measurements: [] }, PLAN)
    expect(PLAN.filter(({ name }) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('judges a target among rows of one full run, and lists what was missed', () => {
    const lanes = { chronos: 100, plainjob: 50 }
    const first = merged({ measurements: [] }, [report('enqueue', lanes)], SOME, PLAN)
    expect(pageOf(first, PLAN)).toContain('| chronos | ≥ 2 × plainjob | 2.00 × | ✓ |')
    const slow = merged(first, [report('enqueue', { chronos: 60, plainjob: 50 })], SOME, PLAN)
    expect(pageOf(slow, PLAN)).toContain('| `enqueue` | chronos | ≥ 2 × plainjob | 1.20 × |')
    const later = merged(first, [report('enqueue', { chronos: 60 })], { ...SOME, at: '2026-01-02T00:00:00.000Z' }, PLAN)
    expect(pageOf(later, PLAN)).not.toContain('2 × plainjob')
    const quick = merged(first, [report('enqueue', lanes)], { ...SOME, size: 'quick' }, PLAN)
    expect(pageOf(quick, PLAN)).not.toContain('2 × plainjob')
  })

  it('keeps the last result of each row, with its date and machine', () => {
    const first = merged({ measurements: [] }, [report('enqueue', { chronos: 100, plainjob: 50 })], SOME, PLAN)
    const later = { ...SOME, at: '2026-02-03T00:00:00.000Z', machine: 'another machine' }
    const page = pageOf(merged(first, [report('enqueue', { chronos: 70 })], later, PLAN), PLAN)
    expect(page).toContain('2026-02-03, 3 rounds, on another machine; and 2026-01-01, 3 rounds, on a machine')
    expect(page).toMatch(/^chronos {3}█+ 70$/m)
    expect(page).toMatch(/^plainjob {2}█+.? 50$/m)
  })

  it('says that the machine was busy, and keeps an earlier result of an idle one', () => {
    const busy = { ...report('enqueue', { chronos: 7 }) }
    const [lane] = busy.lanes
    const noisy = { ...busy, lanes: [{ ...lane!, foreignCores: 1.5 }] }
    const later = { ...SOME, at: '2026-02-03T00:00:00.000Z' }
    const alone = merged({ measurements: [] }, [noisy], later, PLAN)
    expect(pageOf(alone, PLAN)).toContain('**while other processes used up to 1.5 cores**')
    const kept = merged(
      merged({ measurements: [] }, [report('enqueue', { chronos: 8 })], SOME, PLAN),
      [noisy],
      later,
      PLAN,
    )
    expect(pageOf(kept, PLAN)).toMatch(/^chronos {2}█+ 8$/m)
    expect(pageOf(kept, PLAN)).not.toContain('**while other')
  })

  it('names the rows of a measurement that were not measured', () => {
    const page = pageOf(merged({ measurements: [] }, [report('enqueue', { chronos: 1 })], SOME, PLAN), PLAN)
    expect(page).toContain('Not measured yet: plainjob.')
  })
})
