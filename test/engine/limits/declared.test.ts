import { describe, expect, it } from 'vitest'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { LIMITED_STORES } from './limited.js'

const CODE = { limit: { concurrency: 40 }, partitions: { concurrency: 2 } }

async function limitsOf(t: TestChronos) {
  return (await t.queues.list()).find(({ name }) => name === 'crm')?.limits
}

describe.each(LIMITED_STORES)('limits that the code declares on %s', (_, open) => {
  const start = () => testChronos({ store: open, jobs: [], queues: { crm: CODE } })

  it('are stored when the store is opened, before its first job', async () => {
    const t = start()
    expect(await limitsOf(t)).toEqual({ ...CODE, from: 'code' })
    await t.close()
  })

  it('are overridden by an operator, one by one, and return', async () => {
    const t = start()
    await t.queues.set('crm', { partitions: { concurrency: 4 } })
    const partitions = { concurrency: 4 }
    expect(await limitsOf(t)).toEqual({ limit: CODE.limit, partitions, from: 'operator', code: CODE })
    await t.queues.set('crm', { limit: { rate: '5/s' } })
    expect(await limitsOf(t)).toEqual({ limit: { rate: '5/s' }, partitions, from: 'operator', code: CODE })
    await t.queues.set('crm', { limit: null })
    expect(await limitsOf(t)).toEqual({ limit: CODE.limit, partitions, from: 'operator', code: CODE })
    await t.queues.set('crm', { partitions: null })
    expect(await limitsOf(t)).toEqual({ ...CODE, from: 'code' })
    await t.queues.set('crm', { limit: { rate: '5/s' } })
    await t.queues.set('crm', { limit: null, partitions: null })
    expect(await limitsOf(t)).toEqual({ ...CODE, from: 'code' })
    await t.close()
  })

  it('are written again if they were removed', async () => {
    const t = start()
    await t.queues.set('crm', { limit: null, partitions: null })
    expect(await limitsOf(t)).toBeUndefined()
    await t.advance('30s')
    expect(await limitsOf(t)).toEqual({ ...CODE, from: 'code' })
    await t.close()
  })

  it('stay what the version that started last says', async () => {
    const t = start()
    const store = await t.chronos.store()
    await store.setQueue('crm', { limits: { limit: { concurrency: 7 }, from: 'code' } })
    await t.advance('1m')
    expect(await limitsOf(t)).toEqual({ limit: { concurrency: 7 }, from: 'code' })
    await t.close()
  })

  it('do not matter to a queue without them', async () => {
    const t = start()
    await t.queues.set('mail', { limit: { concurrency: 1 } })
    await t.queues.set('mail', { limit: null })
    expect((await t.queues.list()).find(({ name }) => name === 'mail')).toEqual({ name: 'mail', paused: false })
    await t.close()
  })
})

describe('a store without limits', () => {
  const open = async (): Promise<Store> => {
    const { partitions: _, ...store } = memoryStore({ clock: systemClock })
    return store
  }

  it('refuses them in a clear sentence', async () => {
    const plain = new Chronos(open, systemClock, systemDice, { log: false })
    await expect(plain.queues.set('crm', CODE)).rejects.toMatchObject({
      code: 'STORE_NOT_SUPPORTED',
      message: 'queue "crm": this store has no limits of queues; leave limit and partitions out, or use another store',
    })
    await plain.close()
    const limited = new Chronos(open, systemClock, systemDice, { log: false, queues: { crm: CODE } })
    await expect(limited.enqueue('sync', null)).rejects.toMatchObject({
      code: 'STORE_NOT_SUPPORTED',
      message: expect.stringContaining('createChronos: queues: this store has no limits'),
    })
    await limited.close()
  })
})
