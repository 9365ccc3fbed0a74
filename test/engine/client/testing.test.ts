import { describe, expect, it } from 'vitest'
import { defineJob } from '../../../src/index.js'
import { testChronos } from '../../../src/testing.js'

const receipt = defineJob({ name: 'receipt', run: async (_: { readonly orderId: string }) => 'sent' })

describe('job.clock', () => {
  it('is the virtual clock of a test', async () => {
    const slow = defineJob({
      name: 'slow',
      timeout: '3h',
      async run(_: unknown, job) {
        const from = job.clock.now().getTime()
        await job.clock.wait('2h')
        return job.clock.now().getTime() - from
      },
    })
    await using t = testChronos({ jobs: [slow] })
    const { id } = await t.enqueue(slow, {})
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 2 * 3_600_000 })
  })

  it('stops waiting when the job is cancelled', async () => {
    const endless = defineJob({ name: 'endless', timeout: '20h', run: (_: unknown, job) => job.clock.wait('10h') })
    await using t = testChronos({ jobs: [endless] })
    const { id } = await t.enqueue(endless, {})
    await t.advance('1s')
    await t.jobs.cancel(id)
    await t.advance('1s')
    expect((await t.jobs.get(id))?.state).toBe('cancelled')
  })
})

describe('testChronos', () => {
  it('gives the jobs of each instance other ids, and the same jitter', async () => {
    const ids = new Set<string>()
    for (let instance = 0; instance < 3; instance++) {
      await using t = testChronos({ jobs: [] })
      for (let n = 0; n < 5; n++) ids.add((await t.enqueue('x', n)).id)
    }
    expect(ids.size).toBe(15)
  })
})

describe('a transaction of the store in memory', () => {
  it('enqueues with its commit, and wakes the worker', async () => {
    await using t = testChronos({ jobs: [receipt] })
    const id = await t.transaction(async tx => {
      await tx.query('UPDATE orders SET paid = true WHERE id = $1', ['A-17'])
      const enqueued = await t.enqueue(receipt, { orderId: 'A-17' }, { tx, key: 'A-17' })
      await t.advance('1m')
      expect((await t.jobs.list({})).data, 'not before').toEqual([])
      expect(tx.queries).toEqual([{ text: 'UPDATE orders SET paid = true WHERE id = $1', values: ['A-17'] }])
      return enqueued.id
    })
    await t.advance('1s')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    expect(await t.enqueue(receipt, { orderId: 'A-17' }, { key: 'A-17' })).toEqual({ id, status: 'existing' })
  })

  it('enqueues nothing if it is rolled back, not even its key', async () => {
    await using t = testChronos({ jobs: [receipt] })
    const failing = t.transaction(async tx => {
      await t.enqueue(receipt, { orderId: 'A-17' }, { tx, key: 'A-17' })
      throw new Error('no stock')
    })
    await expect(failing).rejects.toThrow('no stock')
    expect((await t.jobs.list({})).data).toEqual([])
    expect((await t.enqueue(receipt, { orderId: 'A-17' }, { key: 'A-17' })).status).toBe('created')
  })

  it('answers statements with the rows of the test', async () => {
    await using t = testChronos({ jobs: [] })
    const rows = await t.transaction(
      async tx => (await tx.query('SELECT paid FROM orders', [])).rows,
      text => (text.startsWith('SELECT') ? [{ paid: true }] : []),
    )
    expect(rows).toEqual([{ paid: true }])
  })

  it('completes a job with its commit, and not otherwise', async () => {
    let runs = 0
    const pay = defineJob({
      name: 'pay',
      retry: { maxRetries: 1, backoff: { type: 'fixed', delay: '1s' } },
      run: (_: unknown, job) =>
        t.transaction(async tx => {
          await job.complete(tx, { paid: ++runs })
          if (runs === 1) throw new Error('deadlock')
        }),
    })
    const t = testChronos({ jobs: [pay] })
    const { id } = await t.enqueue(pay, {})
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2, result: { paid: 2 } })
    await t.close()
  })

  it('is the only transaction that this store joins', async () => {
    await using t = testChronos({ jobs: [receipt] })
    const tx = { query: async () => ({ rows: [] }) }
    await expect(t.enqueue(receipt, { orderId: 'A-17' }, { tx })).rejects.toMatchObject({
      code: 'STORE_NOT_SUPPORTED',
      message: expect.stringContaining('t.transaction'),
    })
  })
})
