import { describe, expect, test } from 'vitest'
import type { ForecastBand, ForecastQuery } from '../../../src/core/forecast/forecast.js'
import type { PolicyInput } from '../../../src/core/policy/policy.js'
import { SeededStreams } from '../../../src/core/simulation/seed.js'
import { present } from '../../../src/core/values/present.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

class Down extends Error {
  readonly status = 503
}

const fails = async (_payload: unknown): Promise<void> => {
  throw new Down('no connection')
}

const POLICIES: readonly PolicyInput[] = [
  { maxRetries: 3, jitter: 'none', backoff: { type: 'exponential', base: '10s' } },
  { maxRetries: 5, jitter: 'none', backoff: { type: 'fixed', delay: '45s' } },
  { maxRetries: 4, jitter: 'none', backoff: { type: 'linear', base: '20s', increment: '15s' }, cap: '40s' },
  { maxRetries: 6, jitter: 'none', backoff: { type: 'fibonacci', base: '7s' }, maxElapsed: '90s' },
  { maxRetries: 2, jitter: 'none', backoff: { type: 'list', delays: ['5s', '2m'] } },
  { maxRetries: 8, jitter: 'none', backoff: { type: 'exponential', base: '3s', factor: 3 }, maxElapsed: '4m' },
  'none',
]
const RULED: readonly PolicyInput[] = [
  ...POLICIES,
  {
    maxRetries: 3,
    jitter: 'none',
    backoff: { type: 'fixed', delay: '9s' },
    rules: [{ when: { status: 503 }, as: 'transient', delay: '33s' }],
  },
]
const JITTERED: readonly PolicyInput[] = [
  { maxRetries: 3, backoff: { type: 'exponential', base: '10s' }, jitter: 'full' },
  { maxRetries: 5, backoff: { type: 'fixed', delay: '45s' }, jitter: 0.2 },
  { maxRetries: 4, backoff: { type: 'exponential', base: '8s' }, jitter: 'equal', maxElapsed: '2m' },
  { maxRetries: 4, backoff: { type: 'exponential', base: '6s' }, jitter: 'decorrelated', cap: '1m' },
  { maxRetries: 6, backoff: { type: 'linear', base: '20s' }, jitter: 'full', maxElapsed: '3m' },
]
const QUEUES = ['default', 'mail', 'reports']
const TENANTS = ['acme', 'globex', undefined]

/** One number of a seeded sequence after the other. */
function dice(seed: number): (below: number) => number {
  const streams = new SeededStreams(1, () => seed)
  return below => Math.floor(streams.draw(0) * below)
}

/** The deaths after this moment, until the outage has killed every job that it can. */
async function deathsFrom(t: TestChronos, { queue, tenantId, all }: ForecastQuery): Promise<readonly number[]> {
  const page = { limit: 200 }
  const only = present({ queue, tenantId })
  const waiting = await t.jobs.list({ state: 'waiting', ...only }, page)
  const ids = waiting.data.filter(({ attempt }) => all || attempt > 0).map(({ id }) => id)
  await t.drain()
  if (ids.length === 0) return []
  const { data } = await t.jobs.list({ state: 'dead', ids }, page)
  return data.map(({ finishedAt }) => Date.parse(finishedAt!)).sort((a, b) => a - b)
}

/** Enqueues jobs under some of the policies, in several queues and tenants, and stops at a random moment of the outage. */
async function outage(seed: number, retries: readonly PolicyInput[]): Promise<TestChronos> {
  const roll = dice(seed)
  const jobs = Array.from({ length: 1 + roll(3) }, (_, i) =>
    defineJob({ name: `job-${i}`, queue: QUEUES[roll(3)]!, retry: retries[roll(retries.length)]!, run: fails }),
  )
  const once = defineJob({ name: 'once', queue: 'mail', delivery: 'at-most-once', run: fails })
  const t = testChronos({ jobs: [...jobs, once], seed, work: { queues: QUEUES, concurrency: 100, maintenance: false } })
  for (const job of jobs) {
    const lifeMs = [undefined, undefined, 20_000 + roll(120_000)][roll(3)]
    for (let i = roll(6); i >= 0; i--) {
      const delay = 1 + roll(30_000)
      const deadline = lifeMs === undefined ? undefined : new Date(t.now().getTime() + delay + lifeMs)
      await t.enqueue(job, {}, { delay, ...present({ tenantId: TENANTS[roll(3)], deadline }) })
      if (roll(3) === 0) await t.advance(roll(4_000))
    }
  }
  await t.enqueue(once, {}, { delay: 1 + roll(60_000) })
  await t.advance(roll(90_000))
  return t
}

const QUERIES: readonly ForecastQuery[] = [
  {},
  { queue: 'mail' },
  { tenantId: 'acme' },
  { queue: 'default', tenantId: 'globex' },
]

describe('the forecast', () => {
  test('is exact without jitter in 200 seeded outages', async () => {
    let outages = 0
    for (let seed = 1; seed <= 200; seed++) {
      const retries = seed % 3 === 0 ? RULED : POLICIES
      await using t = await outage(seed, retries)
      // The error of a job that has not run yet is unknown, and so is the rule that will match.
      const query = { ...QUERIES[seed % QUERIES.length], all: retries !== RULED }
      const { dying, exact, first, last } = await t.chronos.forecast(query)
      const deaths = await deathsFrom(t, query)
      expect({ seed, dying }).toEqual({ seed, dying: deaths.length })
      if (deaths.length === 0) continue
      outages++
      const band = (at: number) => ({ earliest: new Date(at).toISOString(), latest: new Date(at).toISOString() })
      const expected = { exact: true, first: band(deaths[0]!), last: band(deaths.at(-1)!) }
      expect({ seed, exact, first, last }).toEqual({ seed, ...expected })
    }
    expect(outages).toBeGreaterThan(120)
  })

  test('has at least 95 % of the deaths inside its band with jitter', async () => {
    let inside = 0
    let all = 0
    for (let seed = 1; seed <= 60; seed++) {
      await using t = await outage(seed, JITTERED)
      const { dying, first, last } = await t.chronos.forecast({ all: true })
      const deaths = await deathsFrom(t, { all: true })
      expect({ seed, dying }).toEqual({ seed, dying: deaths.length })
      if (first === undefined || last === undefined) continue
      all += deaths.length
      inside += deaths.filter(at => at >= Date.parse(first.earliest) && at <= Date.parse(last.latest)).length
      const isIn = ({ earliest, latest }: ForecastBand, at: number) =>
        at >= Date.parse(earliest) && at <= Date.parse(latest)
      expect({ seed, first: isIn(first, deaths[0]!), last: isIn(last, deaths.at(-1)!) }).toEqual({
        seed,
        first: true,
        last: true,
      })
    }
    expect(all).toBeGreaterThan(200)
    expect(inside / all).toBeGreaterThanOrEqual(0.95)
  })
})

describe.each(STORES)('a forecast on %s', (_, store) => {
  const retry = { maxRetries: 2, backoff: { type: 'fixed', delay: '10m' }, jitter: 'none' } as const
  const pay = defineJob({ name: 'pay', queue: 'default', dependsOn: 'bank', retry, run: fails })
  const mail = defineJob({ name: 'mail', queue: 'mail', retry, run: fails })
  const minutes = (t: TestChronos, count: number): string => new Date(t.now().getTime() + count * 60_000).toISOString()

  test('tells when the jobs of each queue and dependency die, and how long another policy would last', async () => {
    await using t = testChronos({ jobs: [pay, mail], store, work: { queues: QUEUES } })
    await t.enqueueMany(pay, [1, 2, 3], { tenantId: 'acme' })
    await t.advance('1m')
    await t.enqueue(mail, {})
    await t.enqueue(mail, {}, { delay: '1h' })
    await t.advance('1m')
    const forecast = await t.chronos.forecast()
    expect(forecast).toMatchObject({
      jobs: { value: 4, relation: 'exact' },
      dying: 4,
      held: 0,
      exact: true,
      first: { earliest: minutes(t, 18) },
      last: { latest: minutes(t, 19) },
      places: [
        { queue: 'default', dependency: 'bank', tenantId: 'acme', jobs: 3, first: { earliest: minutes(t, 18) } },
        { queue: 'mail', jobs: 1, dying: 1, last: { latest: minutes(t, 19) } },
      ],
      instead: { policy: 'patient' },
      summary: [
        'If nothing improves, the first job dies at 00:20:00 UTC, and the last of 4 at 00:21:00 UTC.',
        expect.stringMatching(/^With the policy patient, the first would die between .+ and .+, and the last between/),
      ],
    })
    expect(Date.parse(forecast.instead!.first!.earliest)).toBeGreaterThan(Date.parse(forecast.last!.latest))
    const { fingerprint } = (await t.jobs.list({ queue: 'mail', phase: 'retrying' })).data[0]!
    expect(await t.chronos.forecast({ fingerprint: fingerprint!, queue: 'mail' })).toMatchObject({ dying: 1 })
    expect(await t.chronos.forecast({ dependency: 'bank' })).toMatchObject({
      dying: 0,
      summary: ['No job waits for a retry.'],
    })
    expect(await t.chronos.forecast({ dependency: 'bank', tenantId: 'acme' })).toMatchObject({ dying: 3 })
    expect(await t.chronos.forecast({ queue: 'mail', all: true, policy: 'none' })).toMatchObject({
      dying: 2,
      last: { latest: minutes(t, 59 + 20) },
      instead: { policy: 'none', last: { latest: minutes(t, 59) } },
    })
  })

  test('spares jobs that a paused queue or an open circuit holds back, except those with a deadline', async () => {
    const circuit = { ...retry, circuit: true } as const
    const open = defineJob({ name: 'pay', queue: 'default', dependsOn: 'bank', retry: circuit, run: fails })
    await using t = testChronos({ jobs: [open, mail], store, work: { queues: QUEUES } })
    await t.enqueueMany(open, [1, 2, 3])
    await t.enqueueMany(mail, [1, 2])
    await t.enqueue(mail, {}, { deadline: '15m' })
    await t.advance('1m')
    await t.chronos.circuits.open('bank')
    await t.queues.pause('mail')
    const forecast = await t.chronos.forecast({ all: true })
    expect(forecast).toMatchObject({ jobs: { value: 6 }, held: 6, dying: 1, first: { earliest: minutes(t, 14) } })
    expect(forecast.places.map(({ held }) => held).sort()).toEqual(['circuit-open', 'queue-paused'])
    expect(forecast.summary[1]).toBe(
      '6 jobs do not start because of a paused queue or an open circuit; only deadlines can end them.',
    )
    await t.advance('30m')
    const { data } = await t.jobs.list({ state: 'dead' })
    expect(data).toMatchObject([{ reason: 'expired' }])
  })

  test('refuses what it does not know', async () => {
    await using t = testChronos({ jobs: [mail], store })
    await expect(t.chronos.forecast({ policy: 'eternal' as 'none' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(await t.chronos.forecast()).toMatchObject({ jobs: { value: 0 }, dying: 0, exact: false, places: [] })
  })
})
