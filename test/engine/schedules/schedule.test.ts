import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import type { Clock } from '../../../src/core/values/clock.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import type { Store } from '../../../src/store/store.js'
import { type TestChronos, type TestOptions, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

type Open = (typeof STORES)[number][1]

/** A job that records when it runs, in seconds from the start, and calls `act`. */
function world(open: Open, act: (run: number) => unknown = () => undefined, more: Partial<TestOptions> = {}) {
  const runs: number[] = []
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line) as Record<string, unknown>) })
  const job = defineJob<{ n: number } | undefined, unknown>({
    name: 'report',
    retry: fixed({ delay: '20s', maxRetries: 3, jitter: 'none' }),
    run() {
      runs.push((t.clock.now() - START) / 1_000)
      return act(runs.length)
    },
  })
  const t: TestChronos = testChronos({ jobs: [job], store: open, log, ...more })
  const START = t.clock.now()
  const { schedules } = t.chronos
  return { t, job, runs, schedules, lines, of: (event: string) => lines.filter(line => line['event'] === event) }
}

const fail = () => {
  throw new Error('no')
}

describe.each(STORES)('a schedule on %s', (_, open) => {
  it('makes a job for every occurrence, at its time', async () => {
    const { t, job, runs, schedules } = world(open)
    await schedules.put('s', { cron: '*/10 * * * * *', job, payload: { n: 7 }, tags: ['x'], priority: 8 })
    await t.advance('35s')
    expect(runs).toEqual([10, 20, 30])
    const { data } = await t.jobs.list({ scheduleId: 's' })
    expect(data.map(({ runAt }) => runAt)).toEqual([
      '2026-01-01T00:00:30.000Z',
      '2026-01-01T00:00:20.000Z',
      '2026-01-01T00:00:10.000Z',
    ])
    expect(data[0]).toMatchObject({
      scheduleId: 's',
      key: 'schedule:s:2026-01-01T00:00:30.000Z',
      payload: { n: 7 },
      tags: ['x'],
      priority: 8,
      state: 'succeeded',
    })
    expect(await schedules.get('s')).toMatchObject({
      state: 'active',
      fired: 3,
      nextOccurrenceAt: '2026-01-01T00:00:40.000Z',
      lastOccurrenceAt: '2026-01-01T00:00:30.000Z',
      lastJobId: data[0]!.id,
    })
    await t.close()
  })

  it('with an interval counts from its creation', async () => {
    const { t, job, runs, schedules } = world(open)
    await t.advance('7s')
    await schedules.put('s', { every: '90s', job })
    await t.advance('5m')
    expect(runs).toEqual([97, 187, 277])
    await t.close()
  })

  it('R32: lets retries finish first, and skips and reports the occurrences meanwhile', async () => {
    const { t, job, runs, schedules, of } = world(open, run => run <= 2 && fail())
    const heard: unknown[] = []
    t.on('schedule.skipped', event => void heard.push(event))
    await schedules.put('s', { cron: '*/15 * * * * *', job, tenantId: 'acme' })
    await t.advance('70s')
    expect(runs).toEqual([15, 35, 55, 60])
    expect(of('schedule.skipped').map(line => line['tickAt'])).toEqual([
      '2026-01-01T00:00:30.000Z',
      '2026-01-01T00:00:45.000Z',
    ])
    expect(of('schedule.skipped')[0]).toMatchObject({
      scheduleId: 's',
      tenantId: 'acme',
      name: 'report',
      nextOccurrenceAt: '2026-01-01T00:00:45.000Z',
    })
    expect(heard).toEqual([
      {
        scheduleId: 's',
        tenantId: 'acme',
        tickAt: '2026-01-01T00:00:30.000Z',
        skipped: 1,
        nextOccurrenceAt: '2026-01-01T00:00:45.000Z',
      },
      {
        scheduleId: 's',
        tenantId: 'acme',
        tickAt: '2026-01-01T00:00:45.000Z',
        skipped: 2,
        nextOccurrenceAt: '2026-01-01T00:01:00.000Z',
      },
    ])
    expect(await schedules.get('s')).toMatchObject({ fired: 2, skipped: 2, missedCount: 0 })
    await t.close()
  })

  it('R34: says after the last retry when the next occurrence comes', async () => {
    const { t, job, schedules, of } = world(open, fail)
    await schedules.put('s', { cron: '0 */5 * * * *', job })
    await t.advance('7m')
    expect(of('job.dead')).toMatchObject([
      { scheduleId: 's', reason: 'exhausted', maxRetries: 3, nextOccurrenceAt: '2026-01-01T00:10:00.000Z' },
    ])
    await t.advance('4m')
    expect(await schedules.get('s')).toMatchObject({ state: 'active', fired: 2 })
    await t.close()
  })

  it('R34: is named in every log line of its occurrences, whatever happens to them', async () => {
    const outcomes = [fail, () => t.jobs.cancel(current).then(fail), () => new Promise(() => undefined), fail]
    let current = ''
    const { t, job, schedules, lines } = world(open, run => outcomes[run - 1]?.())
    t.on('job.started', started => {
      current = started.job.id
    })
    const put = { cron: '0 0 * * *', job, retry: fixed({ delay: '1s', maxRetries: 1 }), timeout: '1s' } as const
    await schedules.put('s', put)
    await schedules.run('s')
    await t.advance('1m', { despite: 'handlers' })
    await schedules.run('s')
    await t.advance('1m', { despite: 'handlers' })
    const waiting = await schedules.run('s')
    await t.jobs.cancel(waiting.id)
    const about = lines.filter(line => 'jobId' in line)
    expect(new Set(about.map(({ event }) => event))).toEqual(
      new Set(['job.retrying', 'job.cancelled', 'handler.stuck', 'job.dead']),
    )
    for (const line of about) expect(line, String(line['event'])).toHaveProperty('scheduleId', 's')
    await t.close()
  })

  it('is named in the log line of an occurrence that dies, by its own field and not by the key', async () => {
    const { t, job, schedules, of } = world(open, fail)
    await schedules.put('s', { cron: '0 0 * * *', job })
    const { id: occurrence } = await schedules.run('s')
    const { id: lookalike } = await t.chronos.enqueue(job, undefined, { key: 'schedule:s:2026-01-01T00:00:00.000Z' })
    await t.advance('2m')
    const lines = of('job.dead')
    expect(lines).toHaveLength(2)
    expect(lines.find(({ jobId }) => jobId === occurrence)).toMatchObject({
      scheduleId: 's',
      nextOccurrenceAt: '2026-01-02T00:00:00.000Z',
    })
    expect(lines.find(({ jobId }) => jobId === lookalike)).not.toHaveProperty('scheduleId')
    await t.close()
  })

  it('is named in the log line of an occurrence that dies after the schedule was deleted', async () => {
    const { t, job, schedules, of } = world(open, fail)
    await schedules.put('s', { cron: '0 0 * * *', job })
    await schedules.run('s')
    await schedules.delete('s')
    await t.advance('2m')
    expect(of('job.dead')).toMatchObject([{ scheduleId: 's' }])
    expect(of('job.dead')[0]).not.toHaveProperty('nextOccurrenceAt')
    await t.close()
  })

  it('lets one occurrence wait for the previous one, if configured', async () => {
    const { t, job, runs, schedules } = world(open, run => run === 1 && fail())
    await schedules.put('s', { cron: '*/8 * * * * *', overlap: 'queue', job })
    await t.advance('31s')
    // 8: fails, its retry is at 28; 16 waits, 24 is one too many.
    expect(runs.slice(0, 2)).toEqual([8, 28])
    expect(runs[2]).toBeGreaterThanOrEqual(28)
    expect(runs[2]).toBeLessThanOrEqual(29)
    expect(await schedules.get('s')).toMatchObject({ fired: 2, skipped: 1 })
    await t.advance('2s')
    expect(runs[3]).toBe(32)
    await t.close()
  })

  it('names the occurrence that waits as the next one when its predecessor dies', async () => {
    const { t, job, schedules, of } = world(open, fail)
    const retry = fixed({ delay: '20s', maxRetries: 1, jitter: 'none' })
    await schedules.put('s', { cron: '*/8 * * * * *', overlap: 'queue', job, retry })
    await t.advance('29s')
    // 8: fails, and dies at 28; 16 waits for it and is the next run.
    expect(of('job.dead')).toMatchObject([{ scheduleId: 's', nextOccurrenceAt: '2026-01-01T00:00:16.000Z' }])
    await t.close()
  })

  it('lists the runs of its jobs from the oldest, over several pages', async () => {
    const { t, job, schedules } = world(open, run => run === 1 && fail())
    await schedules.put('s', { cron: '0 * * * * *', job })
    await t.advance('3m')
    const first = await schedules.history('s', { order: 'oldest', limit: 2 })
    const second = await schedules.history('s', { limit: 2, cursor: first.page.next! })
    const seen = [...first.data, ...second.data].map(({ startedAt, label }) => `${startedAt.slice(14, 19)} ${label}`)
    expect(seen).toEqual(['01:00 Initial', '01:20 Retry #1', '02:00 Initial', '03:00 Initial'])
    await t.close()
  })

  it('starts occurrences concurrently, if configured', async () => {
    const { t, job, runs, schedules } = world(open, run => run === 1 && fail())
    await schedules.put('s', { cron: '*/8 * * * * *', overlap: 'allow', job })
    await t.advance('30s')
    expect(runs).toEqual([8, 16, 24, 28])
    await t.close()
  })

  it('does nothing while it is paused, and catches nothing up', async () => {
    const { t, job, runs, schedules } = world(open)
    await schedules.put('s', { cron: '* * * * *', job })
    await t.advance('90s')
    expect(await schedules.pause('s')).toMatchObject({ state: 'paused', version: 2 })
    expect((await schedules.get('s'))!.nextOccurrenceAt).toBeUndefined()
    await expect(schedules.pause('s')).rejects.toMatchObject({ code: 'NOT_ALLOWED' })
    await t.advance('5m')
    expect(await schedules.resume('s')).toMatchObject({ state: 'active', version: 3 })
    await t.advance('90s')
    expect(runs).toEqual([60, 420, 480])
    expect(await schedules.get('s')).toMatchObject({ fired: 3, missedCount: 0 })
    await t.close()
  })

  it('is changed without firing twice, and the same again changes nothing', async () => {
    const { t, job, runs, schedules } = world(open)
    await schedules.put('s', { cron: '* * * * *', job })
    await t.advance('60s')
    expect(await schedules.put('s', { cron: '* * * * *', job })).toMatchObject({ version: 1 })
    expect(await schedules.put('s', { cron: '0 * * * * *', job, payload: { n: 1 } })).toMatchObject({ version: 2 })
    expect(await schedules.put('s', { cron: '*/2 * * * *', job })).toMatchObject({ version: 3 })
    await t.advance('5m')
    expect(runs).toEqual([60, 120, 240, 360])
    await t.close()
  })

  it('is not changed by a caller with an old version', async () => {
    const { t, job, schedules } = world(open)
    const { version } = await schedules.put('s', { cron: '* * * * *', job }, { version: 0 })
    await t.advance('3m')
    await schedules.put('s', { cron: '*/5 * * * *', job }, { version })
    await expect(schedules.put('s', { cron: '*/9 * * * *', job }, { version })).rejects.toMatchObject({
      code: 'VERSION_CONFLICT',
      message: 'schedule "s" has version 2, not 1: it was modified concurrently; read it again',
    })
    await expect(schedules.put('other', { cron: '*/9 * * * *', job }, { version: 4 })).rejects.toMatchObject({
      code: 'VERSION_CONFLICT',
    })
    await t.close()
  })

  it('runs at once on request, whatever its times, and is deleted without its jobs', async () => {
    const { t, job, runs, schedules } = world(open)
    await schedules.put('s', { cron: '0 * * * *', job, payload: { n: 1 } })
    await schedules.pause('s')
    const { id } = await schedules.run('s')
    await t.advance('1s')
    expect(runs).toEqual([0])
    expect(await t.jobs.get(id)).toMatchObject({ scheduleId: 's', state: 'succeeded', payload: { n: 1 } })
    await schedules.delete('s')
    expect(await schedules.get('s')).toBeUndefined()
    expect(await t.jobs.get(id)).toMatchObject({ scheduleId: 's' })
    await expect(schedules.run('s')).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'there is no schedule "s"' })
    await expect(schedules.delete('s')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await t.advance('2h')
    expect(runs).toEqual([0])
    await t.close()
  })

  it('makes no occurrence twice when it is deleted and created again at once', async () => {
    const { t, job, runs, schedules } = world(open)
    await schedules.put('s', { cron: '* * * * *', job })
    await t.advance('60s')
    await schedules.delete('s')
    await schedules.put('s', { cron: '* * * * *', job })
    await t.advance('60s')
    expect(runs).toEqual([60, 120])
    await t.close()
  })

  it('has one occurrence if it does not recur, and keeps its history', async () => {
    const { t, job, runs, schedules } = world(open, fail)
    await schedules.put('s', { cron: '0 30 * * * *', recurring: false, job })
    await t.advance('2h')
    expect(runs).toEqual([1_800, 1_820, 1_840, 1_860])
    expect(await schedules.get('s')).toMatchObject({ state: 'ended', fired: 1, endedAt: '2026-01-01T00:30:00.000Z' })
    expect(await schedules.put('s', { cron: '0 30 * * * *', recurring: false, job })).toMatchObject({ state: 'ended' })
    const first = await schedules.history('s', { limit: 3 })
    expect(first.data.map(({ label }) => label)).toEqual(['Retry #3', 'Retry #2', 'Retry #1'])
    const rest = await schedules.history('s', { limit: 3, cursor: first.page.next! })
    expect(rest).toMatchObject({ data: [{ label: 'Initial', status: 'failed' }], page: {} })
    await t.close()
  })

  it('lists the runs of all its jobs, newest first', async () => {
    const { t, job, schedules } = world(open, run => run % 2 === 1 && fail())
    await schedules.put('s', { cron: '* * * * *', job })
    await t.advance('170s')
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await schedules.history('s', { limit: 1, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.data.map(({ startedAt, label }) => `${startedAt.slice(14, 19)} ${label}`))
      cursor = page.page.next
    } while (cursor !== undefined)
    expect(seen).toEqual(['02:20 Retry #1', '02:00 Initial', '01:20 Retry #1', '01:00 Initial'])
    await t.close()
  })

  it('splays its jobs by an amount of its own', async () => {
    const { t, job, runs, schedules } = world(open)
    await schedules.put('s', { cron: '* * * * *', splay: '30s', job })
    await t.advance('3m')
    const [first] = runs
    expect(first).toBeGreaterThan(60)
    expect(first).toBeLessThanOrEqual(90)
    expect(runs[1]).toBeCloseTo(first! + 60, 3)
    await t.close()
  })

  it('begins with startAt and ends with endAt', async () => {
    const { t, job, runs, schedules } = world(open)
    const [startAt, endAt] = ['2026-01-01T00:02:00Z', new Date('2026-01-01T00:04:00Z')]
    await schedules.put('s', { cron: '* * * * *', startAt, endAt, job })
    await t.advance('10m')
    expect(runs).toEqual([120, 180, 240])
    expect(await schedules.get('s')).toMatchObject({ state: 'ended' })
    await t.close()
  })

  it('can be listed by page and previewed', async () => {
    const { t, job, schedules } = world(open)
    for (const id of ['c', 'a', 'b']) await schedules.put(id, { every: '1h', job })
    const first = await schedules.list({ limit: 2 })
    expect(first.data.map(({ id, every }) => `${id} ${every}`)).toEqual(['a 1h', 'b 1h'])
    const second = await schedules.list({ limit: 2, cursor: first.page.next! })
    expect(second).toMatchObject({ data: [{ id: 'c' }], page: {} })
    expect(schedules.preview({ cron: '0 9 * * MON', timeZone: 'Europe/Paris' }, { count: 1 })).toEqual([
      { at: '2026-01-05T08:00:00.000Z', local: '2026-01-05T09:00:00+01:00' },
    ])
    await t.close()
  })

  it('refuses invalid options', async () => {
    const { t, job, schedules } = world(open)
    const wrong: [Record<string, unknown>, string][] = [
      [{ cron: '0 0 31 2 *', job }, 'schedule "s": cron "0 0 31 2 *": it never happens: there is no 31 February'],
      [{ cron: '* * * * *' }, 'schedule "s": give job or http, one'],
      [
        { cron: '* * * * *', job, overlap: 'never' },
        'schedule "s": overlap: expected one of "skip", "queue", "allow", got "never"',
      ],
      [{ cron: '* * * * *', job, timezone: 'UTC' }, 'unknown key "timezone"; did you mean "timeZone"?'],
      [{ cron: '* * * * *', job, retry: { maxRetries: -1 } }, 'maxRetries'],
      [{ cron: '* * * * *', http: { url: 'http://127.0.0.1/' } }, 'http.url'],
      [{ cron: '* * * * *', job, recurring: 'no' }, 'recurring: expected true or false'],
    ]
    for (const [options, why] of wrong) await expect(schedules.put('s', options)).rejects.toThrow(why)
    await expect(schedules.put('', { cron: '* * * * *', job })).rejects.toThrow('schedules.put: id')
    expect((await schedules.list()).data).toEqual([])
    await t.close()
  })
})

/** Processes on one store and one clock that come and go. */
function fleet(open: Open, change: (store: Store) => Partial<Store> = () => ({})) {
  const clock = new VirtualClock()
  const start = clock.now()
  const store = open(clock)
  // A process that stops closes only its own access to the store.
  const shared: Store = Object.assign(Object.create(store), { close: async () => undefined }, change(store))
  const runs: number[] = []
  const job = defineJob({ name: 'report', run: () => void runs.push((clock.now() - start) / 1_000) })
  let processes = 0
  const begin = (own: Clock = clock): Chronos => {
    const chronos = new Chronos(async () => shared, own, seededDice(++processes), { log: false })
    chronos.work([job], { signals: false })
    return chronos
  }
  const end = (chronos: Chronos): Promise<void> => clock.passUntil(chronos.close())
  return { clock, runs, job, begin, end }
}

describe.each(STORES)('schedulers on %s', (_, open) => {
  it('make one job for each occurrence, however many schedulers there are', async () => {
    const { clock, runs, job, begin, end } = fleet(open)
    const processes = [begin(), begin(), begin()]
    await processes[0]!.schedules.put('s', { cron: '* * * * * *', overlap: 'allow', job })
    await processes[1]!.schedules.put('t', { cron: '*/2 * * * * *', overlap: 'allow', job })
    await clock.advance(30_500)
    const { data } = await processes[2]!.jobs.list({ scheduleId: 's' }, { limit: 200 })
    expect(data).toHaveLength(30)
    expect(new Set(data.map(({ key }) => key)).size).toBe(30)
    expect((await processes[2]!.jobs.list({ scheduleId: 't' })).data.length).toBeGreaterThanOrEqual(14)
    expect(await processes[1]!.schedules.get('s')).toMatchObject({ fired: 30, skipped: 0, missedCount: 0 })
    expect(runs.length).toBe(data.length + (await processes[0]!.jobs.list({ scheduleId: 't' })).data.length)
    for (const chronos of processes) await end(chronos)
  })

  it('keep the times of the store when the clock of their machine is set forward', async () => {
    const { clock, runs, job, begin, end } = fleet(open)
    let aheadMs = 0
    const own: Clock = {
      now: () => clock.now() + aheadMs,
      steady: () => clock.now(),
      timer: (ms, run) => clock.timer(ms, run),
      soon: run => clock.soon(run),
      outstanding: clock.outstanding,
    }
    const chronos = begin(own)
    await chronos.schedules.put('s', { every: '10s', overlap: 'allow', job })
    await clock.advance(25_000)
    aheadMs = 3_600_000
    await clock.advance(30_500)
    expect(runs.map(at => Math.round(at))).toEqual([10, 20, 30, 40, 50])
    expect(await chronos.schedules.get('s')).toMatchObject({ fired: 5, missedCount: 0 })
    await end(chronos)
  })

  it('would make more on a store without compare-and-set and keys', async () => {
    const { clock, job, begin, end } = fleet(open, store => ({
      async fire(firings) {
        const { putRecords, enqueue } = store
        const put = await putRecords(firings.map(({ record: { expect: _, ...record } }) => record))
        const jobs = firings.flatMap(firing => firing.jobs.map(({ key: _, payloadHash: _hash, ...rest }) => rest))
        const enqueued = await enqueue(jobs)
        return put.map(one => (one.status === 'written' ? { ...one, enqueued } : one))
      },
    }))
    const processes = [begin(), begin()]
    await processes[0]!.schedules.put('s', { cron: '* * * * * *', overlap: 'allow', job })
    await clock.advance(30_500)
    expect((await processes[1]!.jobs.count({ scheduleId: 's' })).value).toBeGreaterThan(30)
    for (const chronos of processes) await end(chronos)
  })

  it('starve no schedule when there is more to catch up than fits into one step', async () => {
    const { clock, job, begin, end } = fleet(open)
    const before = begin()
    const all = Array.from({ length: 60 }, (_, n) => `s${String(n).padStart(2, '0')}`)
    for (const id of all) {
      await before.schedules.put(id, { cron: '* * * * *', missed: { all: 100 }, overlap: 'allow', job })
    }
    await end(before)
    await clock.advance(100 * 60_000)
    const after = begin()
    await clock.advance(1_000)
    const { data } = await after.schedules.list({ limit: 200 })
    expect(new Set(data.map(({ fired }) => fired)).size).toBe(1)
    expect(data[0]!.fired).toBeGreaterThanOrEqual(99)
    await end(after)
  })

  it('continue when one of them stops', async () => {
    const { clock, runs, job, begin, end } = fleet(open)
    const [first, second] = [begin(), begin()]
    await first.schedules.put('s', { cron: '*/10 * * * * *', overlap: 'allow', job })
    await clock.advance(25_000)
    await end(first)
    await clock.advance(25_000)
    expect(runs.map(Math.floor)).toEqual([10, 20, 30, 40, 50])
    await end(second)
  })

  it('see a change by another process', async () => {
    const { clock, runs, job, begin, end } = fleet(open)
    const [first, second] = [begin(), begin()]
    await first.schedules.put('s', { cron: '0 0 * * *', job })
    await clock.advance(20_000)
    await second.schedules.put('s', { cron: '*/30 * * * * *', job })
    await end(second)
    await clock.advance(45_000)
    expect(runs).toEqual([30, 60])
    await end(first)
  })

  it.each([
    ['run-once', [60, 630, 660]],
    ['skip', [60, 660]],
    [{ all: 3 }, [60, 630, 630, 630, 660]],
  ] as const)('catch up what was missed while none was running: %j', async (missed, expected) => {
    const { clock, runs, job, begin, end } = fleet(open)
    const before = begin()
    await before.schedules.put('s', { cron: '* * * * *', missed, overlap: 'allow', job })
    await clock.advance(90_000)
    await end(before)
    await clock.advance(Date.UTC(2026, 0, 1, 0, 10, 30) - clock.now())
    const after = begin()
    await clock.advance(40_000)
    expect(runs).toEqual(expected)
    const view = await after.schedules.get('s')
    expect(view!.fired + view!.missedCount).toBe(11)
    await end(after)
  })
})
