import { describe, expect, it } from 'vitest'
import { parseCron } from '../../../src/core/schedule/cron.js'
import { nextTicks } from '../../../src/core/schedule/timing.js'
import { seededRandom } from '../../../src/core/simulation/seed.js'

const DAY_MS = 86_400_000

function next(cron: string, timeZone: string, from: string, count: number): string[] {
  const ticks = parseCron(cron, timeZone, 'cron')
  return nextTicks(ticks, Date.parse(from), count).map(at => new Date(at).toISOString().replace('.000Z', 'Z'))
}

/** The number of occurrences from one time (included) to another (excluded). */
function between(cron: string, timeZone: string, from: string, to: string): number {
  const ticks = parseCron(cron, timeZone, 'cron')
  let count = 0
  for (let at = ticks.next(Date.parse(from) - 1); at !== undefined && at < Date.parse(to); at = ticks.next(at)) count++
  return count
}

describe('cron', () => {
  it.each([
    ['*/10 * * * * *', '2026-01-01T00:00:03Z', ['2026-01-01T00:00:10Z', '2026-01-01T00:00:20Z']],
    ['* * * * * *', '2026-01-01T00:00:00.500Z', ['2026-01-01T00:00:01Z', '2026-01-01T00:00:02Z']],
    [
      '58,59 * * * * *',
      '2026-01-01T00:00:00Z',
      ['2026-01-01T00:00:58Z', '2026-01-01T00:00:59Z', '2026-01-01T00:01:58Z'],
    ],
    ['0 0 12 * * *', '2026-01-01T12:00:00Z', ['2026-01-02T12:00:00Z']],
    ['*/15 * * * *', '2026-01-01T00:00:00Z', ['2026-01-01T00:15:00Z', '2026-01-01T00:30:00Z']],
    ['0 9 * * MON-FRI', '2026-01-02T10:00:00Z', ['2026-01-05T09:00:00Z']],
    ['0 0 * * 7', '2026-01-01T00:00:00Z', ['2026-01-04T00:00:00Z']],
    ['0 0 L * *', '2026-01-01T00:00:00Z', ['2026-01-31T00:00:00Z', '2026-02-28T00:00:00Z']],
    ['0 0 * * 5#2', '2026-01-01T00:00:00Z', ['2026-01-09T00:00:00Z']],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
    ['@daily', '2026-01-01T00:00:00Z', ['2026-01-02T00:00:00Z']],
    // If both day and weekday are restricted, either may match.
    ['0 0 13 * FRI', '2026-01-08T12:00:00Z', ['2026-01-09T00:00:00Z', '2026-01-13T00:00:00Z', '2026-01-16T00:00:00Z']],
  ])('%s after %s', (cron, from, expected) => {
    expect(next(cron, 'UTC', from, expected.length)).toEqual(expected)
  })

  it.each([
    ['61 * * * *', 'minute 61 does not exist; it goes from 0 to 59'],
    ['0 24 * * *', 'hour 24 does not exist; it goes from 0 to 23'],
    ['0 0 0 1 *', 'day 0 does not exist; it goes from 1 to 31'],
    ['0 0 1 13 *', 'month 13 does not exist'],
    ['* * * * 8', 'weekday 8 does not exist; it goes from 0 to 7'],
    ['75 * * * * *', 'second 75 does not exist'],
    ['a * * * *', 'the minute field "a" is not understood'],
    ['0 0 1 JAN-FOO *', 'the month field "JAN-FOO" is not understood'],
    ['é * * * *', 'the minute field "é" contains invalid characters'],
    ['*/0 * * * *', 'illegal stepping: 0'],
    ['5-2 * * * *', "From value is larger than to value: '5-2'"],
    ['* * * *', 'expected 5 fields (minute hour day month weekday) or 6 (second first), got 4'],
    ['* * * * * * 2027', 'got 7'],
    ['', 'got 0'],
    ['@reboot', 'known nicknames are @yearly'],
    ['0 0 30 2 *', 'it never happens: there is no 30 February'],
    ['0 0 31 2,4,6 *', 'it never happens: there is no 31 February or April or June'],
    [`${'*,'.repeat(200)}* * * * *`, 'at most 256 characters'],
    [17, 'expected a cron expression'],
  ])('refuses %s', (cron, why) => {
    expect(() => parseCron(cron, 'UTC', 'cron')).toThrow(why)
    expect(() => parseCron(cron, 'UTC', 'cron')).toThrow(/^cron /)
  })
})

describe('cron when clocks change', () => {
  it.each([
    // A time of day that is skipped comes at the first moment after the gap.
    ['30 2 * * *', 'America/New_York', '2026-03-08T00:00Z', ['2026-03-08T07:00:00Z', '2026-03-09T06:30:00Z']],
    ['30 2 * * *', 'Europe/Paris', '2026-03-28T12:00Z', ['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', ['2026-10-03T15:30:00Z', '2026-10-04T15:15:00Z']],
    ['0,30 2 * * *', 'America/New_York', '2026-03-08T00:00Z', ['2026-03-08T07:00:00Z', '2026-03-09T06:00:00Z']],
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T12:00Z', ['2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z']],
    ['0 0 * * *', 'America/Havana', '2026-03-07T12:00Z', ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z']],
    ['30 1 * * *', 'Antarctica/Troll', '2026-03-28T12:00Z', ['2026-03-29T01:00:00Z', '2026-03-29T23:30:00Z']],
    // A time of day that is repeated counts the first time.
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T05:30:00Z', '2026-11-02T06:30:00Z']],
    ['30 2 * * *', 'Europe/Paris', '2026-10-24T12:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00Z', ['2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z']],
    [
      '0,30 1 * * *',
      'America/New_York',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:00:00Z', '2026-11-01T05:30:00Z', '2026-11-02T06:00:00Z'],
    ],
    ['30 1 * * *', 'Europe/Dublin', '2026-10-24T12:00Z', ['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z']],
    // The same holds within the repeated hour.
    ['30 1 * * *', 'America/New_York', '2026-11-01T06:10Z', ['2026-11-02T06:30:00Z']],
    // A frequency, unlike a time of day, follows real time.
    [
      '*/30 1 * * *',
      'America/New_York',
      '2026-11-01T04:00Z',
      ['2026-11-01T05:00:00Z', '2026-11-01T05:30:00Z', '2026-11-01T06:00:00Z', '2026-11-01T06:30:00Z'],
    ],
    ['*/30 2 * * *', 'America/New_York', '2026-03-08T00:00Z', ['2026-03-09T06:00:00Z']],
  ])('%s in %s from %s', (cron, timeZone, from, expected) => {
    expect(next(cron, timeZone, from, expected.length)).toEqual(expected)
  })

  it.each([
    ['*/15 * * * *', 'America/New_York', '2026-03-08T05:00Z', '2026-03-09T04:00Z', 92],
    ['*/15 * * * *', 'America/New_York', '2026-11-01T04:00Z', '2026-11-02T05:00Z', 100],
    ['0 * * * *', 'America/New_York', '2026-03-08T05:00Z', '2026-03-09T04:00Z', 23],
    ['0 * * * *', 'America/New_York', '2026-11-01T04:00Z', '2026-11-02T05:00Z', 25],
    ['*/15 * * * *', 'Australia/Lord_Howe', '2026-10-03T13:30Z', '2026-10-04T13:00Z', 94],
    ['*/15 * * * *', 'Australia/Lord_Howe', '2026-04-04T13:00Z', '2026-04-05T13:30Z', 98],
    ['0 12 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', '2026-02-01T00:00Z', 31],
  ])('%s in %s from %s to %s: %i times', (cron, timeZone, from, to, count) => {
    expect(between(cron, timeZone, from, to)).toBe(count)
  })

  it.each(['Europe/Paris', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'Asia/Gaza', 'Europe/Dublin'])(
    'a time of day comes once on every day of a year in %s',
    timeZone => {
      for (const cron of ['0 0 * * *', '30 0 * * *', '30 1 * * *', '15 2 * * *', '59 2 * * *', '0 3 * * *']) {
        const ticks = nextTicks(parseCron(cron, timeZone, 'cron'), Date.UTC(2026, 0, 1), 365)
        const days = new Set(ticks.map(at => new Intl.DateTimeFormat('en-CA', { timeZone }).format(at)))
        expect(days.size, cron).toBe(365)
      }
    },
  )

  it('agrees with a check of every single minute, for wildcards', () => {
    const random = seededRandom(7)
    const pick = (...all: readonly string[]): string => all[Math.floor(random() * all.length)]!
    for (const timeZone of ['Europe/Paris', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']) {
      const format = new Intl.DateTimeFormat('en-US', {
        timeZone,
        hourCycle: 'h23',
        weekday: 'short',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
      })
      for (const start of [
        Date.UTC(2026, 2, 7),
        Date.UTC(2026, 2, 28),
        Date.UTC(2026, 9, 3),
        Date.UTC(2026, 9, 31),
        Date.UTC(2026, 3, 4),
      ]) {
        const step = Number(pick('5', '7', '20', '30'))
        const hour = pick('*', '1', '2', '1,2')
        const ticks = parseCron(`*/${step} ${hour} * * *`, timeZone, 'cron')
        const expected: number[] = []
        for (let at = start + 60_000; at < start + 2 * DAY_MS; at += 60_000) {
          const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
          const isHour = hour === '*' || hour.split(',').includes(String(Number(parts['hour'])))
          if (isHour && Number(parts['minute']) % step === 0) expected.push(at)
        }
        expect(nextTicks(ticks, start, expected.length), `${timeZone} ${step} ${hour}`).toEqual(expected)
      }
    }
  })
})
