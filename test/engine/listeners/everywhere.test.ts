import { describe, expect, expectTypeOf, test } from 'vitest'
import type { DeathReason } from '../../../src/core/job/job.js'
import { fixed } from '../../../src/core/policy/builders.js'
import { PermanentError } from '../../../src/core/values/error.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { silentLog } from '../../../src/engine/client/log.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { RecordPruner } from '../../../src/engine/upkeep/record-pruner.js'
import type { Settlement, Store } from '../../../src/store/store.js'
import { STORES } from '../../support/stores.js'

const DAY_MS = 86_400_000

const total = defineJob({ name: 'total', run: (cents: number) => ({ total: cents * 2 }) })
const refused = defineJob({
  name: 'refused',
  async run(_: string) {
    throw new PermanentError('card declined')
  },
})
const flaky = defineJob({
  name: 'flaky',
  retry: fixed({ delay: '10s', maxRetries: 2, jitter: 'none' }),
  async run(_: null, job) {
    if (job.attempt < 3) throw new Error('the bank is closed')
  },
})

/** Processes on one store: one has the worker, the others listen. */
function world(open: (clock: VirtualClock) => Store, { works = true } = {}) {
  const clock = new VirtualClock()
  const store = open(clock)
  const settled: Settlement[] = []
  const reads: string[] = []
  const shared: Store = storeProxy({ ...store, close: async () => undefined }, (name, verb) => (...given) => {
    if (name === 'settle') settled.push(...(given[0] as Settlement[]))
    if (name === 'records') reads.push(String(given[0]))
    return verb(...given)
  })
  const warnings: object[] = []
  const log = { ...silentLog, warn: (facts: object) => void warnings.push(facts) }
  let seed = 0
  const all: Chronos[] = []
  const process = (): Chronos => {
    all.push(new Chronos(async () => shared, clock, seededDice(++seed), { log }))
    return all.at(-1)!
  }
  const there = process()
  if (works) there.work([total, refused, flaky], { signals: false, grace: '1s' })
  return {
    clock,
    store,
    there,
    process,
    settled,
    reads,
    warnings,
    log,
    pass: <T>(promise: Promise<T>): Promise<T> => clock.passUntil(promise),
    async [Symbol.asyncDispose]() {
      await clock.passUntil(Promise.all(all.map(one => one.close())), { despite: 'handlers' })
      await store.close()
    },
  }
}

describe.each(STORES)('a listener to the events of all processes, on %s', (_, open) => {
  test('receives how jobs ended in another process, with the types of local events', async () => {
    await using w = world(open)
    const here = w.process()
    const heard: unknown[] = []
    const local: unknown[] = []
    const as = 'billing'
    w.there.on('job.succeeded', event => local.push(event))
    w.there.on('job.dead', event => local.push(event))
    await here.on('job.succeeded', event => heard.push(event), { everywhere: true, as })
    await here.on(
      'job.dead',
      event => {
        expectTypeOf(event.reason).toEqualTypeOf<DeathReason>()
        heard.push(event)
      },
      { everywhere: true, as },
    )
    await w.clock.advance(20_000)
    await w.there.enqueue(total, 21, { key: 'order:1', tenantId: 'acme', tags: ['a'] })
    await w.clock.advance(20_000)
    await w.there.enqueue(refused, 'x')
    await w.clock.advance(20_000)
    expect(heard).toEqual(local)
    expect(heard).toMatchObject([
      { job: { name: 'total', key: 'order:1', tenantId: 'acme' }, result: { total: 42 } },
      { job: { name: 'refused', attempt: 1 }, reason: 'permanent', error: { message: 'card declined' } },
    ])
  })

  test('receives retries and cancellations, also of jobs that never ran', async () => {
    await using w = world(open)
    const here = w.process()
    const heard: unknown[] = []
    await here.on('job.retrying', ({ retry, delayMs }) => heard.push({ retry, delayMs }), { everywhere: true, as: 'a' })
    await here.on('job.cancelled', ({ job }) => heard.push(job.id), { everywhere: true, as: 'a' })
    await w.clock.advance(20_000)
    await w.there.enqueue(flaky, null)
    await w.clock.advance(60_000)
    const { id } = await w.there.enqueue(total, 1, { delay: '1h' })
    await w.there.jobs.cancel(id)
    await w.clock.advance(20_000)
    expect(heard).toEqual([{ retry: 1, delayMs: 10_000 }, { retry: 2, delayMs: 10_000 }, id])
  })

  test('shares the events with the processes that use its name, and not with other names', async () => {
    await using w = world(open)
    const heard: Record<string, string[]> = { one: [], two: [], other: [] }
    for (const [process, as] of [
      ['one', 'billing'],
      ['two', 'billing'],
      ['other', 'search'],
    ] as const) {
      await w.process().on('job.dead', ({ job }) => heard[process]!.push(job.id), { everywhere: true, as })
    }
    await w.clock.advance(20_000)
    const jobs = await w.there.enqueueMany(refused, ['a', 'b', 'c', 'd'])
    await w.clock.advance(20_000)
    const ids = jobs.map(({ id }) => id).sort()
    expect([...heard['one']!, ...heard['two']!].sort()).toEqual(ids)
    expect(heard['other']!.sort()).toEqual(ids)
  })

  test('gets the events of its absence when a process listens again', async () => {
    await using w = world(open)
    const heard: string[] = []
    const before = await w.process().on('job.dead', () => heard.push('before'), { everywhere: true, as: 'billing' })
    await w.clock.advance(20_000)
    await w.pass(before())
    const { id } = await w.there.enqueue(refused, 'x')
    await w.clock.advance(120_000)
    await w.process().on('job.dead', ({ job }) => heard.push(job.id), { everywhere: true, as: 'billing' })
    await w.clock.advance(20_000)
    expect(heard).toEqual([id])
  })

  test('gets an event again if it throws or rejects', async () => {
    await using w = world(open)
    let calls = 0
    let done = (): void => undefined
    const isDone = new Promise<void>(resolve => {
      done = resolve
    })
    const listener = async (): Promise<void> => {
      if (++calls < 3) throw new Error('the ledger is locked')
      done()
    }
    await w.process().on('job.dead', listener, { everywhere: true, as: 'billing' })
    await w.clock.advance(20_000)
    await w.there.enqueue(refused, 'x')
    await w.pass(isDone)
    await w.clock.advance(1_000)
    const [event] = (await w.there.jobs.list({ queue: 'chronos:events/billing/job.dead' })).data
    expect(event).toMatchObject({ state: 'succeeded', attempt: 3 })
  })

  test('raises no events about events, and no queue of the user counts them', async () => {
    await using w = world(open)
    const heard: string[] = []
    w.there.on('job.succeeded', ({ job }) => heard.push(job.name))
    await w.there.on('job.succeeded', () => undefined, { everywhere: true, as: 'a' })
    await w.clock.advance(20_000)
    await w.there.enqueue(total, 1)
    await w.clock.advance(60_000)
    expect(heard).toEqual(['total'])
    expect((await w.there.jobs.list({ internal: false })).data.map(({ name }) => name)).toEqual(['total'])
    expect((await w.there.jobs.list({ internal: true })).data.map(({ name }) => name)).toEqual(['chronos:event'])
  })

  test('keeps its events from the tenants whose jobs they report, and tenants stay apart in its queue', async () => {
    await using w = world(open, { works: false })
    await w.pass((await w.process().on('job.cancelled', () => undefined, { everywhere: true, as: 'a' }))())
    await w.clock.advance(2_000)
    const { id } = await w.there.enqueue(total, 1, { tenantId: 'acme' })
    await w.there.jobs.cancel(id)
    const [event, ...more] = (await w.there.jobs.list({ internal: true })).data
    expect(event).toMatchObject({ payload: { job: { id, tenantId: 'acme' } }, partition: 'acme' })
    expect([event!.tenantId, more]).toEqual([undefined, []])
  })

  test('that no process has used for a week is given up with its events, and the log says so', async () => {
    await using w = world(open, { works: false })
    const queue = 'chronos:events/gone/job.cancelled'
    const waiting = async () => (await w.there.jobs.list({ queue, state: 'waiting' })).data.length
    const cancelOne = async () => {
      const { id } = await w.there.enqueue(total, 1)
      await w.there.jobs.cancel(id)
    }
    const listenTo = async (as: string): Promise<void> => {
      const stop = await w.process().on('job.cancelled', () => undefined, { everywhere: true, as })
      await w.pass(stop())
    }
    const prune = () => new RecordPruner({ connection: { store: async () => w.store }, log: w.log }).step()
    await listenTo('gone')
    await w.clock.advance(2_000)
    await cancelOne()
    await w.clock.advance(6 * DAY_MS)
    await listenTo('lately')
    await prune()
    expect(await waiting()).toBe(1)
    await w.clock.advance(2 * DAY_MS)
    await prune()
    expect(await waiting()).toBe(0)
    expect((await w.store.records('listener', { limit: 10 })).map(({ id }) => id)).toEqual(['lately/job.cancelled'])
    expect(w.warnings).toContainEqual(
      expect.objectContaining({ event: 'listener.forgotten', as: 'gone', on: 'job.cancelled', queue }),
    )
    await w.clock.advance(2_000)
    await cancelOne()
    expect(await waiting()).toBe(0)
  })

  test('can be forgotten at once', async () => {
    await using w = world(open)
    const stop = await w.there.on('job.dead', () => undefined, { everywhere: true, as: 'gone' })
    await w.pass(stop({ forget: true }))
    await w.there.enqueue(refused, 'x')
    await w.clock.advance(60_000)
    expect((await w.there.jobs.list({ internal: true })).data).toEqual([])
  })

  test('costs nothing while it does not exist: no row, and one read with that of the webhooks', async () => {
    await using w = world(open)
    await w.there.enqueueMany(total, [1, 2, 3])
    await w.there.enqueue(refused, 'x')
    await w.clock.advance(60_000)
    expect(w.settled).toHaveLength(4)
    for (const { end } of w.settled) expect(end).not.toHaveProperty('spawn')
    const reads = (kind: string): number => w.reads.filter(one => one === kind).length
    expect(reads('listener')).toBeLessThanOrEqual(reads('webhook'))
  })
})

describe('chronos.on with everywhere', () => {
  const noisy = () => new Chronos(async () => expect.fail('opened'), new VirtualClock(), seededDice(1), { log: false })

  test('refuses events that are not stored', async () => {
    const chronos = noisy()
    // @ts-expect-error: only events that are stored
    const given = chronos.on('job.started', () => undefined, { everywhere: true, as: 'a' })
    await expect(given).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('on: "job.started" is not stored, so only its own process can receive it'),
    })
  })

  test('refuses a listener without a name', async () => {
    // @ts-expect-error: the name is required
    const given = noisy().on('job.dead', () => undefined, { everywhere: true })
    await expect(given).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('as') })
  })

  test('refuses a second listener of the same name and event in one process', async () => {
    await using w = world(STORES[0]![1])
    const options = { everywhere: true, as: 'a' } as const
    await w.there.on('job.dead', () => undefined, options)
    await expect(w.there.on('job.dead', () => undefined, options)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: 'on: this process listens to job.dead as "a" already',
    })
  })
})
