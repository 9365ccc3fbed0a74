import { describe, expect, test } from 'vitest'
import { newDependency } from '../../../src/core/dependency/dependency.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { Connection } from '../../../src/engine/client/connection.js'
import { silentLog } from '../../../src/engine/client/log.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { RecordPruner } from '../../../src/engine/upkeep/record-pruner.js'
import type { Store } from '../../../src/store/store.js'
import { STORES } from '../../support/stores.js'

const DAY_MS = 86_400_000

/** A client without loops, so that days pass at once. */
function client(open: (clock: VirtualClock) => Store) {
  const clock = new VirtualClock()
  const store = open(clock)
  const chronos = new Chronos(async () => store, clock, seededDice(1), { log: false })
  const pruner = new RecordPruner({ connection: new Connection(async () => store, clock), log: silentLog })
  const put = (kind: string, id: string, body: object): Promise<unknown> =>
    store.putRecords([{ kind, id, body: JSON.stringify(body) }])
  const pass = async (days: number): Promise<void> => {
    await clock.advance(days * DAY_MS)
    await put('worker', 'w', { queues: ['served'], seenAt: clock.now(), beatMs: 15_000 })
    await pruner.step()
  }
  return { chronos, store, put, pass, [Symbol.asyncDispose]: () => chronos.close() }
}

describe.each(STORES)('a queue without jobs on %s', (_, open) => {
  test('is removed a week after its last job, unless it has settings or a worker', async () => {
    await using all = client(open)
    const { chronos, store, pass } = all
    const names = async (): Promise<readonly string[]> => (await chronos.queues.list()).map(({ name }) => name)
    const queues = ['empty', 'paused', 'served', 'with-a-job', 'with-a-policy']
    for (const queue of queues) {
      const { id } = await chronos.enqueue('work', {}, { queue, delay: '30d' })
      await chronos.jobs.cancel(id)
      if (queue !== 'with-a-job') await chronos.jobs.delete(id)
    }
    await store.fold(100)
    await chronos.queues.pause('paused')
    await chronos.queues.set('with-a-policy', { retry: { maxRetries: 1 } })
    await pass(6)
    expect(await names()).toEqual(queues)
    await pass(2)
    expect(await names()).toEqual(queues.slice(1))
    expect((await chronos.verify()).isSound).toBe(true)
    await chronos.enqueue('work', {}, { queue: 'empty' })
    expect(await names()).toEqual(queues)
    expect((await chronos.verify()).isSound).toBe(true)
  })

  test('can be deleted with its settings, but not while it has jobs', async () => {
    await using all = client(open)
    const { queues, jobs, enqueue } = { ...all.chronos, enqueue: all.chronos.enqueue.bind(all.chronos) }
    const { id } = await enqueue('work', {}, { queue: 'mail' })
    await queues.set('mail', { paused: true, retry: { maxRetries: 1 } })
    const refused = {
      code: 'NOT_ALLOWED',
      message: expect.stringContaining(`queue "mail" has 1 job and can't be deleted`),
      details: { queue: 'mail', jobs: 1 },
    }
    await expect(queues.delete('mail')).rejects.toMatchObject(refused)
    await jobs.cancel(id)
    await expect(queues.delete('mail')).rejects.toMatchObject(refused)
    await jobs.delete(id)
    await queues.delete('mail')
    expect(await queues.list()).toEqual([])
    await expect(queues.delete('mail')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is not found by a read during which it is deleted', async () => {
    await using all = client(clock => {
      const store = open(clock)
      const census: Store['census'] = async query => {
        await store.removeQueues(['mail'], 'any')
        return store.census(query)
      }
      return new Proxy(store, {
        get: (_, verb) => (verb === 'census' ? census : bound(store, verb)),
      })
    })
    await all.chronos.queues.set('mail', { paused: true })
    await expect(all.chronos.queues.get('mail')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

/** A verb of a store, or another property of it. */
function bound(store: Store, verb: string | symbol): unknown {
  const value = store[verb as keyof Store] as unknown
  return typeof value === 'function' ? value.bind(store) : value
}

describe.each(STORES)('a dependency on %s', (_, open) => {
  test('is forgotten a week after its last use, unless a circuit or a waiting job needs it', async () => {
    await using all = client(open)
    const { chronos, store, put, pass } = all
    const dependency = (key: string, more = {}) => ({ ...newDependency({ key }, {}, 0), ...more })
    await put('dependency', 'idle', dependency('idle'))
    await put('dependency', 'open', dependency('open', { circuit: 'open', openUntil: 0 }))
    await put('dependency', 'held', dependency('held', { forced: 'closed' }))
    await put('dependency', 'waiting', dependency('waiting'))
    await chronos.enqueue('work', {}, { dependsOn: 'waiting', delay: '30d' })
    const ids = async () => (await store.records('dependency', { limit: 10 })).map(({ id }) => id)
    await pass(6)
    expect(await ids()).toEqual(['held', 'idle', 'open', 'waiting'])
    await pass(2)
    expect(await ids()).toEqual(['held', 'open', 'waiting'])
  })
})
