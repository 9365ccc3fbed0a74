import { execFileSync, spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { ChronosError, PermanentError } from '../../../src/core/values/error.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { createChronos } from '../../../src/index.js'
import { CATALOG, PREFIX } from '../../../src/server/metrics/catalog.js'
import { Counts } from '../../../src/server/metrics/counts.js'
import { exposition } from '../../../src/server/metrics/exposition.js'
import { circuitLabel, SERIES_MAX } from '../../../src/server/metrics/labels.js'
import { Metrics } from '../../../src/server/metrics/metrics.js'
import { metricsOf } from '../../../src/server.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { NewJob, Store } from '../../../src/store/store.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { postbox, quiet } from '../../engine/webhooks/postbox.js'
import { type Family, parseExposition, sumOf, valueIn } from '../../support/prometheus.js'
import { STORES } from '../../support/stores.js'
import { startServer } from '../server.js'

/** Names that users' dashboards and alerts rely on. */
const PROMISED = [
  'retries_total',
  'retry_exhausted_total',
  'retry_latency_seconds',
  'attempts_total',
  'jobs',
  'jobs_enqueued_total',
  'jobs_finished_total',
  'attempt_duration_seconds',
  'queue_wait_seconds',
  'queue_oldest_due_age_seconds',
  'dead_letters',
  'dead_letters_total',
  'retry_rate',
  'leases_lost_total',
  'retry_budget_deferred_total',
  'circuit_state',
  'webhook_deliveries_total',
  'schedule_ticks_total',
  'schedule_skipped_total',
  'store_operation_seconds',
  'workers',
]

const twice = fixed({ delay: '30s', maxRetries: 2, jitter: 'none' })
/** Fails as many times as its payload says. */
const mail = defineJob({
  name: 'mail',
  queue: 'mails',
  retry: twice,
  async run(failures: number, job) {
    if (job.attempt <= failures) throw new Error('no')
  },
})
const lost = defineJob({ name: 'card', queue: 'mails', retry: twice, run: async (_: unknown) => undefined })
const refused = defineJob({
  name: 'refused',
  queue: 'mails',
  async run(_: unknown) {
    throw new PermanentError('declined')
  },
})
const down = defineJob({
  name: 'down',
  queue: 'calls',
  dependsOn: 'https://api.example:8443',
  retry: { ...twice, circuit: true, budget: true },
  async run(_: unknown) {
    throw new Error('down')
  },
})

const scraped = async (metrics: Metrics): Promise<ReadonlyMap<string, Family>> =>
  parseExposition((await metrics.render()).text)

/** A mixed workload: successes, retries, deaths, cancels, a lost lease, schedules, webhooks, an open circuit. */
async function live(t: TestChronos, store: Store, hook: string): Promise<void> {
  await t.enqueueMany(mail, [0, 0, 1, 2, 3, 9], { webhook: hook })
  await t.enqueue(refused, null)
  const { id } = await t.enqueue(mail, 0, { delay: '1h' })
  await t.jobs.cancel(id)
  await t.enqueue(mail, 0, { delay: '20m', deadline: '10m' })
  await t.enqueueMany(
    down,
    Array.from({ length: 30 }, () => null),
  )
  await t.chronos.schedules.put('often', { every: '1m', job: lost, payload: null })
  await quiet(t)
  await t.advance('5m')
  await quiet(t)
  // A job of another process whose worker disappeared.
  const abandoned: NewJob = {
    id: '019b76df-3be0-7000-8000-000000000001',
    name: 'card',
    queue: 'mails',
    priority: 5,
    delivery: 'at-least-once',
    payload: 'null',
    runAt: { delayMs: 0 },
    tags: [],
  }
  const claim = { workerId: 'ghost', token: 'f'.repeat(32), queues: ['mails'], limit: 1, leaseMs: 1_000, policyIds: {} }
  const [, { jobs }] = await Promise.all([store.enqueue([abandoned]), store.claim(claim)])
  expect(jobs.map(job => job.id)).toEqual([abandoned.id])
  await t.advance('3h')
  await quiet(t)
}

describe.each(STORES)('metrics of a mixed workload on %s', (_, open) => {
  it('have every name and the right values', async () => {
    await using box = await postbox()
    let store: Store | undefined
    const t = testChronos({
      jobs: [mail, lost, refused, down],
      egress: { allow: ['loopback'] },
      store: clock => {
        store = open(clock)
        return store
      },
    })
    const metrics = new Metrics(t.chronos, t.clock)
    await t.jobs.count()
    await live(t, store!, box.url)
    const families = await scraped(metrics)

    for (const name of PROMISED) {
      expect(families.get(PREFIX + name)?.samples, name).not.toHaveLength(0)
      expect(families.has(PREFIX + name), name).toBe(true)
    }
    const ofMail = { queue: 'mails', name: 'mail' }
    const value = (name: string, labels = {}): number => valueIn(families, PREFIX + name, labels)
    // Failing 1, 2, 3 and 9 times, of which the last two have no third retry: 1 + 2 + 2 + 2.
    expect(value('retries_total', ofMail)).toBe(7)
    expect(value('retry_exhausted_total', ofMail)).toBe(2)
    expect(value('attempts_total', { ...ofMail, outcome: 'failed' })).toBe(9)
    expect(value('attempts_total', { ...ofMail, outcome: 'succeeded' })).toBe(4)
    expect(value('jobs_enqueued_total', ofMail)).toBe(8)
    expect(value('jobs_finished_total', { ...ofMail, result: 'succeeded' })).toBe(4)
    expect(value('jobs_finished_total', { ...ofMail, result: 'dead' })).toBe(3)
    expect(value('jobs_finished_total', { ...ofMail, result: 'cancelled' })).toBe(1)
    expect(value('dead_letters_total', { queue: 'mails', reason: 'exhausted' })).toBe(2)
    expect(value('dead_letters_total', { queue: 'mails', reason: 'permanent' })).toBe(1)
    expect(value('dead_letters_total', { queue: 'mails', reason: 'expired' })).toBe(1)
    expect(value('dead_letters', { queue: 'mails' })).toBe(4)
    expect(value('jobs', { queue: 'mails', phase: 'dead' })).toBe(4)
    // Each retry of a mail started 30 s after its failure; the time of the abandoned job comes from the store.
    expect(value('retry_latency_seconds_bucket', { queue: 'mails', le: '10' })).toBe(0)
    expect(value('retry_latency_seconds_bucket', { queue: 'mails', le: '30' })).toBe(7)
    expect(value('leases_lost_total', { queue: 'mails', noticed_by: 'sweeper' })).toBe(1)
    expect(value('attempts_total', { queue: 'mails', name: 'card', outcome: 'lost' })).toBe(1)
    expect(value('attempt_duration_seconds_count', ofMail)).toBe(13)
    expect(sumOf(families, 'chronos_queue_wait_seconds_count', { queue: 'mails' })).toBe(
      sumOf(families, 'chronos_attempt_duration_seconds_count', { queue: 'mails' }),
    )
    expect(value('webhook_deliveries_total', { outcome: 'delivered' })).toBe(6)
    expect(value('schedule_ticks_total')).toBeGreaterThanOrEqual(185)
    expect(value('workers')).toBe(1)
    expect(value('store_up')).toBe(1)
    expect(value('worker_slots', { state: 'total' })).toBe(10)
    expect(value('circuit_state', { key: 'api.example:8443' })).toBe(2)
    expect(value('store_operation_seconds_count', { op: 'claim' })).toBeGreaterThan(0)
    expect(families.get('process_cpu_seconds_total')?.type).toBe('counter')
    await t.close()
  })
})

type Census = Store['census']

/** A test instance whose store can be given another census. */
function measured() {
  const held: { store?: Store; census?: Census } = {}
  const t = testChronos({
    jobs: [mail],
    store: clock => {
      const store = memoryStore({ clock })
      const { census } = store
      store.census = request => (held.census ?? census.bind(store))(request)
      held.store = store
      return store
    },
  })
  const metrics = new Metrics(t.chronos, t.clock)
  const answer = (census: Census | undefined): void => {
    if (census) held.census = census
    else delete held.census
  }
  return { t, metrics, store: () => held.store!, answer }
}

describe('retry rate, retry latency and waiting times', () => {
  it('divide retries by first attempts of the last five minutes, per queue', async () => {
    const { t, metrics, store } = measured()
    await t.enqueueMany(mail, [0, 0, 0, 1, 2])
    await t.drain()
    await store().fold(1_000)
    expect(valueIn(await scraped(metrics), 'chronos_retry_rate', { queue: 'mails' })).toBe(3 / 5)
    await t.advance('10m')
    expect((await scraped(metrics)).get('chronos_retry_rate')?.samples).toEqual([])
    await t.close()
  })

  it('leave out the retry rate of a queue in which only retries ended', async () => {
    const { t, metrics, store } = measured()
    const { id } = await t.enqueue(mail, 1)
    await t.advance('1s')
    await t.jobs.reschedule(id, { delay: '10m' })
    await t.advance('11m')
    await store().fold(1_000)
    const { retryRate, last5m } = await t.chronos.stats()
    expect([retryRate, last5m.retries]).toEqual([undefined, 1])
    expect((await scraped(metrics)).get('chronos_retry_rate')?.samples).toEqual([])
    await t.close()
  })

  it('read the time of a failure from the store if it happened in another process', async () => {
    const { t, store } = measured()
    await t.enqueue(mail, 1)
    await t.advance('1s')
    await t.worker.stop()
    const other = new Chronos(async () => store(), t.clock, seededDice(2), { log: false })
    const metrics = new Metrics(other, t.clock)
    other.work([mail], { signals: false })
    await t.advance('1m')
    const families = await scraped(metrics)
    expect(valueIn(families, 'chronos_retries_total', { queue: 'mails', name: 'mail' })).toBe(1)
    expect(valueIn(families, 'chronos_retry_latency_seconds_count', { queue: 'mails' })).toBe(1)
    expect(valueIn(families, 'chronos_retry_latency_seconds_sum', { queue: 'mails' })).toBe(30)
    await other.close()
    await t.close()
  })

  it('show the waiting time of the oldest due job and the oldest due retry', async () => {
    const { t, metrics } = measured()
    await t.enqueue(mail, 1)
    await t.advance('1s')
    await t.queues.pause('mails')
    await t.enqueue(mail, 0)
    await t.advance('10m')
    const families = await scraped(metrics)
    expect(valueIn(families, 'chronos_queue_oldest_due_age_seconds', { queue: 'mails' })).toBe(600)
    expect(valueIn(families, 'chronos_queue_oldest_due_retry_age_seconds', { queue: 'mails' })).toBe(571)
    expect(valueIn(families, 'chronos_queue_paused', { queue: 'mails' })).toBe(1)
    expect(valueIn(families, 'chronos_jobs', { queue: 'mails', phase: 'blocked' })).toBe(2)
    expect(valueIn(families, 'chronos_jobs', { queue: 'mails', phase: 'retrying' })).toBe(0)
    expect(valueIn(families, 'chronos_jobs', { queue: 'mails', phase: 'queued' })).toBe(0)
    await t.close()
  })
})

describe('deferred retries and failed deliveries', () => {
  it('counts retries that the budget deferred', async () => {
    const thrifty = defineJob({
      name: 'thrifty',
      queue: 'calls',
      retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '5s' }, jitter: 'none', budget: true },
      async run(_: unknown, job) {
        if (job.attempt === 1) throw new Error('not yet')
      },
    })
    const t = testChronos({ jobs: [thrifty], work: { concurrency: 100 } })
    const metrics = new Metrics(t.chronos, t.clock)
    await t.enqueueMany(
      thrifty,
      Array.from({ length: 100 }, () => null),
    )
    await t.drain()
    const families = await scraped(metrics)
    const deferred = valueIn(families, 'chronos_retry_budget_deferred_total', { queue: 'calls' })
    expect(deferred).toBeGreaterThan(0)
    expect(sumOf(families, 'chronos_attempts_total', { outcome: 'deferred' })).toBe(deferred)
    expect(valueIn(families, 'chronos_retries_total', { queue: 'calls', name: 'thrifty' })).toBe(100)
    // Measured from the failure, not from the deferral.
    expect(valueIn(families, 'chronos_retry_latency_seconds_count', { queue: 'calls' })).toBe(100)
    expect(valueIn(families, 'chronos_retry_latency_seconds_bucket', { queue: 'calls', le: '2.5' })).toBe(0)
    await t.close()
  })

  it('counts failed delivery attempts and dead deliveries', async () => {
    await using box = await postbox()
    box.answer = () => 500
    const t = testChronos({ jobs: [mail], egress: { allow: ['loopback'] } })
    const metrics = new Metrics(t.chronos, t.clock)
    await t.enqueue(mail, 0, { webhook: box.url })
    for (let minutes = 0; minutes < 60; minutes++) {
      await quiet(t)
      await t.advance('1m')
    }
    await quiet(t)
    const families = await scraped(metrics)
    expect(valueIn(families, 'chronos_webhook_deliveries_total', { outcome: 'failed' })).toBe(box.heard.length)
    expect(valueIn(families, 'chronos_webhook_deliveries_total', { outcome: 'delivered' })).toBe(0)
    expect(valueIn(families, 'chronos_webhook_deliveries_total', { outcome: 'dead' })).toBe(1)
    await t.close()
  })
})

describe('a scrape', () => {
  it('keeps the last gauges and reports that the store is down', async () => {
    const { t, metrics, answer } = measured()
    await t.enqueue(mail, 9)
    await t.drain()
    expect(valueIn(await scraped(metrics), 'chronos_dead_letters', { queue: 'mails' })).toBe(1)
    answer(() => Promise.reject(new ChronosError('STORE_UNAVAILABLE', 'gone fishing')))
    await t.advance('10s')
    const families = await scraped(metrics)
    expect(valueIn(families, 'chronos_store_up')).toBe(0)
    expect(valueIn(families, 'chronos_dead_letters', { queue: 'mails' })).toBe(1)
    expect(valueIn(families, 'chronos_reading_age_seconds')).toBe(10)
    expect(valueIn(families, 'chronos_store_errors_total', { op: 'census', code: 'STORE_UNAVAILABLE' })).toBe(1)
    answer(undefined)
    await t.advance('10s')
    expect(valueIn(await scraped(metrics), 'chronos_store_up')).toBe(1)
    await t.close()
  })

  it('does not wait longer than three seconds for the store', async () => {
    const { t, metrics, answer } = measured()
    let release = (): void => {}
    answer(
      () =>
        new Promise((_, reject) => {
          release = () => reject(new Error('too late'))
        }),
    )
    const rendering = metrics.render()
    await t.advance('5s', { despite: 'calls' })
    const families = parseExposition((await rendering).text)
    expect(valueIn(families, 'chronos_store_up')).toBe(0)
    expect(families.get('chronos_jobs')?.samples).toEqual([])
    expect(families.get('process_start_time_seconds')?.samples).toHaveLength(1)
    release()
    await t.close()
  })

  it('reads the store at most every five seconds, however many scrapers there are', async () => {
    const { t, metrics, answer } = measured()
    let asked = 0
    answer(async () => {
      asked++
      return []
    })
    await Promise.all(Array.from({ length: 10 }, () => metrics.render()))
    await t.advance('4s')
    await metrics.render()
    expect(asked).toBe(1)
    await t.advance('1s')
    await metrics.render()
    expect(asked).toBe(2)
    await t.close()
  })
})

describe('labels', () => {
  const counted = (places: readonly { queue: string; name: string }[]): ReadonlyMap<string, Family> => {
    const counts = new Counts(() => 0)
    for (const place of places) {
      counts.enqueued(place, 1)
      counts.started(place, 1, 20)
    }
    return parseExposition(exposition(CATALOG, counts.samples(), PREFIX))
  }

  it('survive escaping, whatever they contain', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom('"', '\\', '\n', '\\n', 'a,name="b"', '{}', '\r\n', '\u0000', '# TYPE x counter', 'é', '💥', ''),
    )
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(text, text), { maxLength: 20, comparator: 'SameValue', selector: String }),
        all => {
          const places = all.map(([queue, name]) => ({ queue, name }))
          const samples = counted(places).get('chronos_jobs_enqueued_total')!.samples
          expect(new Set(samples.map(({ labels }) => JSON.stringify([labels['queue'], labels['name']])))).toEqual(
            new Set(all.map(pair => JSON.stringify(pair))),
          )
          expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(places.length)
        },
      ),
    )
  })

  it('with lone surrogates share one series', () => {
    const samples = counted([
      { queue: 'a\ud800', name: 'b' },
      { queue: 'a\udfff', name: 'b' },
    ]).get('chronos_jobs_enqueued_total')!.samples
    expect(samples).toMatchObject([{ labels: { queue: 'a\ufffd', name: 'b' }, value: 2 }])
  })

  it(`are limited to ${SERIES_MAX} pairs of queue and name; further ones are counted as other`, () => {
    const places = Array.from({ length: 5_000 }, (_, index) => ({ queue: `q${index % 2_000}`, name: `n${index}` }))
    const families = counted([...places, ...places])
    expect(families.get('chronos_jobs_enqueued_total')!.samples).toHaveLength(SERIES_MAX)
    const others = { queue: 'other', name: 'other' }
    expect(valueIn(families, 'chronos_jobs_enqueued_total', others)).toBe(10_000 - 2 * (SERIES_MAX - 1))
    expect(valueIn(families, 'chronos_queue_wait_seconds_count', { queue: 'other' })).toBe(
      10_000 - 6 * (SERIES_MAX - 1),
    )
  })

  it('have the same limit for gauges: the largest queues have their own, and no job is lost', async () => {
    const { t, metrics, answer } = measured()
    const none = { value: 0, relation: 'exact' } as const
    answer(async () =>
      Array.from({ length: 500 }, (_, index) => ({
        queue: `q${index}`,
        scheduled: none,
        queued: { value: index === 499 ? 1_000 : 2, relation: 'exact' },
        retrying: none,
        blocked: none,
        running: none,
        dead: none,
      })),
    )
    const families = await scraped(metrics)
    expect(valueIn(families, 'chronos_jobs', { queue: 'q499', phase: 'queued' })).toBe(1_000)
    expect(families.get('chronos_queue_paused')!.samples).toHaveLength(SERIES_MAX)
    expect(sumOf(families, 'chronos_jobs', { phase: 'queued' })).toBe(499 * 2 + 1_000)
    await t.close()
  })

  it.each([
    ['stripe', 'stripe'],
    ['job:reports/daily', 'job:reports/daily'],
    ['queue:mails', 'queue:mails'],
    ['https://api.example', 'api.example'],
    ['http://10.0.0.1:8080', '10.0.0.1:8080'],
    ['https://user:secret@api.example/path?token=abc', 'api.example'],
    ['user:secret@db', 'dependency-4dc72b4605f9'],
    ['who knows what\nthis is', 'dependency-99664a566c0c'],
  ])('show the circuit %j as %j, without addresses and secrets', (key, label) => {
    expect(circuitLabel(key)).toBe(label)
  })
})

describe('one Chronos', () => {
  it('is measured once at a time', async () => {
    const { t, metrics } = measured()
    expect(() => new Metrics(t.chronos, t.clock)).toThrow('has a meter already')
    metrics.close()
    await t.enqueue(mail, 0)
    const again = new Metrics(t.chronos, t.clock)
    const families = await scraped(again)
    expect(families.get('chronos_jobs_enqueued_total')!.samples).toEqual([])
    expect(valueIn(families, 'chronos_store_operation_seconds_count', { op: 'census' })).toBe(1)
    await t.close()
  })

  it('has one set of metrics', async () => {
    await using chronos = createChronos({ store: 'memory:', log: false })
    expect(metricsOf(chronos)).toBe(metricsOf(chronos))
    const { contentType, text } = await metricsOf(chronos).render()
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(valueIn(parseExposition(text), 'chronos_store_up')).toBe(1)
    expect(parseExposition(text).get('chronos_build_info')!.samples[0]!.labels).toMatchObject({ node: process.version })
    metricsOf(chronos).close()
  })
})

describe('GET /metrics', () => {
  it('needs the role viewer, and refuses the token of one tenant', async () => {
    await using one = await startServer({ token: 'an-administrators-token' })
    const ask = (token: string | undefined): Promise<Response> =>
      fetch(new URL('metrics', one.url), token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } })
    const viewer = await one.server.tokens.create({ name: 'prometheus', role: 'viewer' })
    const tenant = await one.server.tokens.create({ name: 'acme', role: 'admin', tenantId: 'acme' })
    expect((await ask(undefined)).status).toBe(401)
    expect((await ask(tenant.token)).status).toBe(403)
    const answer = await ask(viewer.token)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(valueIn(parseExposition(await answer.text()), 'chronos_store_up')).toBe(1)
  })
})

describe('the catalog', () => {
  it('follows the naming rules of Prometheus', () => {
    for (const [name, { type, help, labels }] of Object.entries(CATALOG)) {
      expect(name, name).toMatch(/^[a-z][a-z0-9_]*$/)
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      if (type === 'histogram') expect(name).toMatch(/_seconds$/)
      expect(help, name).toMatch(/^[A-Z0-9].*\.$/)
      expect(new Set(labels).size, name).toBe(labels.length)
    }
  })

  it('is accepted by promtool, where it is installed', async () => {
    const isThere = spawnSync('promtool', ['--version']).status === 0
    if (!isThere) {
      console.log('not run: promtool is not installed')
      expect(spawnSync('promtool', ['--version']).error).toMatchObject({ code: 'ENOENT' })
      return
    }
    const { t, metrics } = measured()
    await t.enqueueMany(mail, [0, 1, 9])
    await t.drain()
    const { text } = await metrics.render()
    const check = () => execFileSync('promtool', ['check', 'metrics'], { input: text.split('# HELP process_')[0]! })
    expect(check).not.toThrow()
    await t.close()
  })
})
