import { describe, expect, it } from 'vitest'
import {
  deadQuery,
  parseJobQuery,
  type RedriveFilter,
  redriveFilterWords,
  TIME_FIELDS,
  type TimeField,
} from '../../../src/core/job/filter.js'

const BOOLEANS: ReadonlySet<string> = new Set(['acknowledged', 'retried'])
const isTime = (key: string): boolean => TIME_FIELDS.includes(key as TimeField)
const words = (filter: RedriveFilter): string => redriveFilterWords(filter, ms => `at ${ms}`)

describe('the filter of a redrive in words', () => {
  it.each([...Object.keys(deadQuery.fields)])('never shows one that is limited by %s as all dead jobs', key => {
    const value = key === 'ids' ? ['a'] : BOOLEANS.has(key) ? false : isTime(key) ? 5 : 'x'
    expect(words(parseJobQuery({ [key]: value }, 'redrive') as RedriveFilter)).not.toContain('all dead jobs')
  })

  it('says each condition', () => {
    expect(words({})).toBe('all dead jobs')
    expect(
      words({
        ids: ['a', 'b'],
        error: 'ECONNRESET',
        text: 'ann',
        scheduleId: 's',
        createdAfter: 5,
        failedBefore: 9,
        retried: true,
        acknowledged: true,
      }),
    ).toBe(
      '2 jobs by id, error with ECONNRESET, schedule s, created after at 5, failed before at 9, search ann, retried, acknowledged',
    )
  })
})

describe('a filter', () => {
  it.each([
    [
      { state: 'ded' },
      'list: state: expected one of "waiting", "running", "succeeded", "dead", "cancelled", or a list of states, got "ded"; did you mean "dead"?',
    ],
    [{ state: 'blocked' }, 'a list of states, got "blocked"; waiting jobs have phases: filter by phase "blocked"'],
    [{ state: ['dead', 'retrying'] }, 'got "retrying"; waiting jobs have phases: filter by phase "retrying"'],
    [{ stat: 'dead' }, 'list: unknown key "stat"; did you mean "state"?'],
    [{ queue: 7 }, 'list: queue: expected a text of 1 to 1024 characters, got 7'],
    [
      { createdAfter: 'once' },
      'list: createdAfter: expected a Date, a time such as "2026-12-24T18:00:00Z" or epoch milliseconds, got "once"',
    ],
  ])('refuses %j', (query, message) => {
    expect(() => parseJobQuery(query, 'list')).toThrow(message)
  })

  it('is what stores take', () => {
    expect(parseJobQuery({ phase: 'retrying', q: 'x', createdAfter: '1970-01-01T00:00:01Z' }, 'list')).toEqual({
      phase: 'retrying',
      text: 'x',
      createdAfter: 1000,
    })
    expect(parseJobQuery({ phase: 'dead' }, 'list')).toEqual({ state: 'dead' })
  })
})
