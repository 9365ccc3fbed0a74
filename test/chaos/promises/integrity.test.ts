import { describe, expect, test } from 'vitest'
import type { IntegrityReport } from '../../../src/index.js'
import { flawsOf, flawsUnderFaults, shortly } from './integrity.js'

const rows = { waiting: 0, running: 1, succeeded: 0, dead: 0, cancelled: 0 }
const balanced = { queue: 'mail', enqueued: 1, removed: 0, rows, isBalanced: true }
const unbalanced = { ...balanced, queue: 'sync', enqueued: 2, isBalanced: false, problem: '1 job is missing' }
const late = { jobId: 'a', what: 'lease-expired', detail: 'it was not recovered' } as const
const OTHERS: readonly IntegrityReport['findings'][number]['what'][] = [
  'success-runs',
  'run-gap',
  'orphan-attempts',
  'over-limit',
  'stranded',
  'rate-clock',
]

describe('the integrity check', () => {
  test('allows a late recovery while faults are caused', () => {
    expect(flawsUnderFaults({ queues: [balanced], findings: [late] })).toEqual([])
  })

  test('allows no late recovery at the end', () => {
    expect(flawsOf({ queues: [balanced], findings: [late] })).toEqual(['lease-expired of a: it was not recovered'])
  })

  test.each(OTHERS)('counts %s also while faults are caused', what => {
    const findings = [late, { jobId: 'b', what, detail: 'it is wrong' }]
    expect(flawsUnderFaults({ queues: [balanced], findings })).toEqual([`${what} of b: it is wrong`])
  })

  test('counts a missing job also while faults are caused', () => {
    const report = { queues: [balanced, unbalanced], findings: [late] }
    expect(flawsUnderFaults(report)).toEqual(['queue sync: 1 job is missing'])
  })

  test('names a few flaws and counts the others', () => {
    expect(shortly(['a', 'b', 'c'])).toBe('a; b; c')
    expect(shortly(['a', 'b', 'c', 'd', 'e'])).toBe('a; b; c; and 2 more')
  })
})
