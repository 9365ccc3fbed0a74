import { describe, expect, it } from 'vitest'
import { isScheduleForm, parseScheduleForm } from '../../../src/core/schedule/form.js'
import { viewOccurrences } from '../../../src/core/schedule/occurrences.js'
import { missed, scheduleOptions } from '../../../src/core/schedule/options.js'
import { decideTicks, type Missed, NO_TICKS, type Overlap, type Schedule } from '../../../src/core/schedule/schedule.js'
import { checkHappens, lastTick, nextTicks, parseTiming, splayOf, ticksOf } from '../../../src/core/schedule/timing.js'
import { read } from '../../../src/core/values/schema.js'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 1)

function everyMinute(more: Partial<Schedule> = {}): Schedule {
  return {
    id: 's',
    revision: 1,
    state: 'active',
    timing: { cron: '* * * * *', timeZone: 'UTC' },
    overlap: 'skip',
    missed: 'run-once',
    recurring: true,
    job: {
      name: 'j',
      queue: 'default',
      priority: 5,
      delivery: 'at-least-once',
      payload: 'null',
      payloadHash: '',
      tags: [],
    },
    createdAt: START,
    updatedAt: START,
    decidedUntil: START,
    counts: NO_TICKS,
    ...more,
  }
}

/** Occurrences as minutes from the start. */
function decided(schedule: Schedule, afterMinutes: number, live: number) {
  const round = decideTicks(schedule, ticksOf(schedule.timing), live, START + afterMinutes * MINUTE)
  const minutes = (ticks: readonly number[]) => ticks.map(tick => (tick - START) / MINUTE)
  const { next } = round
  return {
    fire: minutes(round.fire),
    skipped: minutes(round.skipped),
    missed: round.missed?.count ?? 0,
    queued: next.queuedTick === undefined ? undefined : (next.queuedTick - START) / MINUTE,
    until: (next.decidedUntil - START) / MINUTE,
    state: next.state,
    counts: next.counts,
  }
}

describe('the occurrences of a schedule', () => {
  it.each<[overlap: Overlap, live: number, fire: number[], skipped: number[], queued: number | undefined]>([
    ['skip', 0, [1], [], undefined],
    ['skip', 1, [], [1], undefined],
    ['queue', 0, [1], [], undefined],
    ['queue', 1, [], [], 1],
    ['allow', 3, [1], [], undefined],
  ])('follow overlap %s while %i are live', (overlap, live, fire, skipped, queued) => {
    expect(decided(everyMinute({ overlap }), 1, live)).toMatchObject({ fire, skipped, queued, until: 1 })
  })

  it('let at most one wait, which runs when the previous one has ended', () => {
    const waiting = everyMinute({ overlap: 'queue', queuedTick: START + MINUTE, decidedUntil: START + MINUTE })
    expect(decided(waiting, 2, 1)).toMatchObject({ fire: [], skipped: [2], queued: 1 })
    expect(decided(waiting, 1.5, 0)).toMatchObject({ fire: [1], skipped: [], queued: undefined, until: 1 })
    expect(decided(waiting, 2, 0)).toMatchObject({ fire: [1], skipped: [], queued: 2 })
  })

  it.each<[missed: Missed, afterMinutes: number, live: number, fire: number[], count: number]>([
    // Late by less than the limit for missed occurrences.
    ['skip', 1.2, 0, [1], 0],
    ['run-once', 10.5, 0, [10], 9],
    ['run-once', 10.1, 0, [10], 9],
    ['run-once', 10.5, 1, [], 9],
    ['skip', 10.5, 0, [], 10],
    ['skip', 10.1, 0, [10], 9],
    [{ all: 3 }, 10.5, 0, [8, 9, 10], 7],
    [{ all: 100 }, 10.5, 1, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0],
  ])('that were missed: %j after %d minutes with %i live', (missed, afterMinutes, live, fire, count) => {
    const round = decided(everyMinute({ missed }), afterMinutes, live)
    expect(round).toMatchObject({ fire, missed: count, until: Math.floor(afterMinutes) })
  })

  it('are found at once after years without a scheduler', () => {
    const timing = { cron: '* * * * * *', timeZone: 'Europe/Paris' }
    const round = decided(everyMinute({ timing }), 2 * 365 * 24 * 60, 0)
    expect(round).toMatchObject({ fire: [2 * 365 * 24 * 60], missed: 100 })
  })

  it('number one if it does not recur, and then it has ended', () => {
    const once = everyMinute({ recurring: false })
    expect(decided(once, 0.5, 0)).toMatchObject({ fire: [], state: 'active' })
    expect(decided(once, 1, 1)).toMatchObject({ fire: [1], state: 'ended' })
    expect(decided(once, 60, 0)).toMatchObject({ fire: [1], state: 'ended' })
    expect(decided({ ...once, missed: 'skip' }, 60, 0)).toMatchObject({ fire: [], missed: 1, state: 'ended' })
  })

  it('end with endAt', () => {
    const timing = { cron: '* * * * *', timeZone: 'UTC', endAt: START + 2 * MINUTE }
    expect(decided(everyMinute({ timing }), 1, 0)).toMatchObject({ fire: [1], state: 'active' })
    expect(decided(everyMinute({ timing, decidedUntil: START + MINUTE }), 2, 0)).toMatchObject({
      fire: [2],
      state: 'ended',
    })
  })

  it('are none while it is paused', () => {
    expect(decided(everyMinute({ state: 'paused' }), 10, 0)).toMatchObject({
      fire: [],
      skipped: [],
      missed: 0,
      until: 0,
    })
  })

  it('refuse an unknown catch-up setting', () => {
    expect(read(missed, { all: 5 }, 'schedule "s": missed')).toEqual({ all: 5 })
    for (const wrong of ['all', { all: 0 }, { all: 101 }, { all: 1, more: 2 }, null]) {
      expect(() => read(scheduleOptions, { missed: wrong }, 'schedule "s":')).toThrow(/^schedule "s": missed/)
    }
  })
})

describe('timing', () => {
  it('with an interval does not drift, and begins at startAt if given', () => {
    const every = ticksOf(parseTiming({ every: '90s' }, START, 's'))
    expect(nextTicks(every, START, 3)).toEqual([START + 90_000, START + 180_000, START + 270_000])
    expect(every.next(START + 200_000)).toBe(START + 270_000)
    const later = ticksOf(parseTiming({ every: '90s', startAt: START + 5_000 }, START, 's'))
    expect(nextTicks(later, START, 2)).toEqual([START + 5_000, START + 95_000])
  })

  it.each([
    [{}, 'give cron or every, one'],
    [{ cron: '* * * * *', every: '5s' }, 'give cron or every, not both'],
    [{ every: '500ms' }, 'at least 1s'],
    [
      { cron: '* * * * *', timeZone: 'Europe/Pariss' },
      'timeZone: expected a time zone such as "Europe/Paris" or "UTC", got "Europe/Pariss"',
    ],
    [{ cron: '* * * * *', timeZone: '+02:00' }, 'timeZone: expected a time zone'],
    [{ cron: '* * * * *', startAt: 2, endAt: 1 }, 'endAt is before startAt'],
    [{ cron: '* * * * *', endAt: 1 }, 'it never happens between now and endAt'],
    [{ cron: '* * * * *', splay: '2m' }, 'a splay of 2m is not shorter than the 1m between two occurrences'],
    [{ cron: '0 0 * * *', splay: '2h' }, 'at most 1h'],
  ] as const)('refuses %j', (input, why) => {
    expect(() => checkHappens(parseTiming(input, START, 'schedule "s"'), START, 'schedule "s"')).toThrow(why)
  })

  it('finds the last occurrence of an interval', () => {
    const ticks = ticksOf({ cron: '0 * * * *', timeZone: 'UTC' })
    expect(lastTick(ticks, START, START + 5.5 * 3_600_000)).toBe(START + 5 * 3_600_000)
    expect(lastTick(ticks, START, START + 3_600_000)).toBe(START + 3_600_000)
    expect(lastTick(ticks, START, START + 3_599_999)).toBeUndefined()
    const every = ticksOf({ everyMs: 1_000, anchor: START + 1, timeZone: 'UTC' })
    expect(lastTick(every, START + 1, START + 9_999)).toBe(START + 9_001)
  })

  it('splays each schedule by its own constant amount', () => {
    const splays = Array.from({ length: 200 }, (_, n) => splayOf(`schedule-${n}`, 10_000))
    expect(splays).toEqual(Array.from({ length: 200 }, (_, n) => splayOf(`schedule-${n}`, 10_000)))
    expect(Math.max(...splays)).toBeLessThanOrEqual(10_000)
    expect(new Set(splays.map(ms => Math.floor(ms / 1_000))).size).toBeGreaterThan(9)
    expect(splayOf('s', undefined)).toBe(0)
  })

  it('is shown in local time, with the clock changes', () => {
    const timing = { cron: '30 2 * * *', timeZone: 'Europe/Paris' }
    expect(viewOccurrences(timing, Date.UTC(2026, 2, 28), 3)).toEqual([
      { at: '2026-03-28T01:30:00.000Z', local: '2026-03-28T02:30:00+01:00' },
      { at: '2026-03-29T01:00:00.000Z', local: '2026-03-29T03:00:00+02:00', clocks: '+1h' },
      { at: '2026-03-30T00:30:00.000Z', local: '2026-03-30T02:30:00+02:00' },
    ])
  })
})

describe('the short form of a schedule', () => {
  const FORM = { schedule: '*/10 * * * * *', api: 'https://api.example.com/webhook' }

  it('is a call with the retries of the http preset that retries every failure', () => {
    expect(parseScheduleForm({ ...FORM, type: 'AT_LEAST_ONCE', isRecurring: true, maxRetryCount: 5 }, 'job')).toEqual({
      cron: '*/10 * * * * *',
      http: { method: 'POST', url: 'https://api.example.com/webhook', retryClientErrors: true },
      delivery: 'at-least-once',
      recurring: true,
      retry: {
        maxRetries: 5,
        backoff: { type: 'exponential', base: '1s' },
        jitter: 'none',
        cap: '5m',
        rules: [
          { when: { status: 429 }, as: 'throttled' },
          { when: { name: ['HttpError', 'TimeoutError'] }, as: 'transient' },
        ],
      },
      warnings: [],
    })
    expect(parseScheduleForm(FORM, 'job')).toMatchObject({
      delivery: 'at-least-once',
      recurring: true,
      retry: { maxRetries: 3 },
    })
    expect([isScheduleForm(FORM), isScheduleForm({ name: 'x' }), isScheduleForm(null)]).toEqual([true, false, false])
  })

  it('warns if retries are requested and impossible', () => {
    const { delivery, warnings } = parseScheduleForm({ ...FORM, type: 'AT_MOST_ONCE', maxRetryCount: 5 }, 'job')
    expect(delivery).toBe('at-most-once')
    expect(warnings).toEqual(['AT_MOST_ONCE runs once and is never retried, so maxRetryCount 5 has no effect'])
    expect(parseScheduleForm({ ...FORM, type: 'AT_MOST_ONCE' }, 'job').warnings).toEqual([])
  })

  it.each([
    [
      { ...FORM, type: 'EXACTLY_ONCE' },
      'job.type: expected one of "AT_LEAST_ONCE", "AT_MOST_ONCE", got "EXACTLY_ONCE"',
    ],
    [{ ...FORM, maxRetryCount: -1 }, 'job.maxRetryCount'],
    [{ ...FORM, isRecurring: 'yes' }, 'job.isRecurring'],
    [{ ...FORM, api: 'ftp://example.com' }, 'job.api: expected http: or https:'],
    [{ api: FORM.api }, 'job.schedule'],
    [{ ...FORM, isRecuring: true }, 'did you mean "isRecurring"?'],
  ])('refuses %j', (form, why) => {
    expect(() => parseScheduleForm(form, 'job')).toThrow(why)
  })
})
