import { describe, expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

/** A job that keeps the payloads of its runs. */
function indexer(act: (payload: number, attempt: number) => Promise<void> = async () => {}) {
  const ran: number[] = []
  const index = defineJob({
    name: 'index',
    retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '1m' }, jitter: 'none' },
    async run(payload: number, job) {
      ran.push(payload)
      await act(payload, job.attempt)
    },
  })
  return { index, ran }
}

const REPLACE = { unique: 'doc:42', mode: 'replace' } as const
const DEBOUNCE = { unique: 'doc:42', mode: 'debounce', for: '30s', maxWait: '100s' } as const

describe.each(STORES)('the modes of unique on %s', (_, store) => {
  test('replace: the waiting job runs with the newest payload, at its time', async () => {
    const { index, ran } = indexer()
    await using t = testChronos({ jobs: [index], store })
    const { id } = await t.enqueue(index, 1, { ...REPLACE, delay: '1m' })
    expect(await t.enqueue(index, 2, REPLACE)).toEqual({ id, status: 'replaced' })
    await t.advance('59s')
    expect(ran).toEqual([])
    await t.advance('2s')
    expect(ran).toEqual([2])
    expect((await t.enqueue(index, 3, REPLACE)).status).toBe('created')
  })

  test('debounce: a burst becomes one run after its last enqueue', async () => {
    const { index, ran } = indexer()
    await using t = testChronos({ jobs: [index], store })
    const { id } = await t.enqueue(index, 1, DEBOUNCE)
    for (const payload of [2, 3]) {
      await t.advance('20s')
      expect(await t.enqueue(index, payload, DEBOUNCE)).toEqual({ id, status: 'replaced' })
    }
    await t.advance('29s')
    expect(ran).toEqual([])
    await t.advance('2s')
    expect(ran).toEqual([3])
  })

  test('debounce: a steady stream runs at the longest wait', async () => {
    const { index, ran } = indexer()
    await using t = testChronos({ jobs: [index], store })
    for (let payload = 1; payload <= 6; payload++) {
      await t.enqueue(index, payload, DEBOUNCE)
      await t.advance('20s')
    }
    expect(ran).toEqual([5])
  })

  test('debounce: a shorter time wakes the worker earlier', async () => {
    const { index, ran } = indexer()
    await using t = testChronos({ jobs: [index], store })
    await t.enqueue(index, 1, { ...DEBOUNCE, for: '90s' })
    await t.advance('1s')
    await t.enqueue(index, 2, { ...DEBOUNCE, for: '5s' })
    await t.advance('6s')
    expect(ran).toEqual([2])
  })

  test('an enqueue during a run gets a job of its own, which runs with the newest payload', async () => {
    const meanwhile: string[] = []
    const { index, ran } = indexer(async payload => {
      if (payload !== 1) return
      for (const newer of [2, 3]) meanwhile.push((await t.enqueue(index, newer, REPLACE)).status)
    })
    await using t = testChronos({ jobs: [index], store, work: { concurrency: 1 } })
    await t.enqueue(index, 1, REPLACE)
    await t.drain()
    expect(meanwhile).toEqual(['created', 'replaced'])
    expect(ran).toEqual([1, 3])
  })

  test('a retry runs with the newest payload, after its backoff', async () => {
    const { index, ran } = indexer(async payload => {
      if (payload === 1) throw new Error('the index is down')
    })
    await using t = testChronos({ jobs: [index], store })
    const { id } = await t.enqueue(index, 1, { ...DEBOUNCE, for: '1s' })
    await t.advance('2s')
    expect(await t.enqueue(index, 2, { ...DEBOUNCE, for: '1s' })).toEqual({ id, status: 'replaced' })
    await t.advance('50s')
    expect(ran).toEqual([1])
    await t.advance('20s')
    expect(ran).toEqual([1, 2])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
  })

  test('throttle: one job per time, also after it has ended', async () => {
    const { index, ran } = indexer()
    await using t = testChronos({ jobs: [index], store })
    const throttle = { unique: 'doc:42', mode: 'throttle', for: '1h' } as const
    const { id } = await t.enqueue(index, 1, throttle)
    await t.drain()
    expect(await t.enqueue(index, 2, throttle)).toEqual({ id, status: 'existing' })
    expect((await t.enqueue(index, 3, { ...throttle, tenantId: 'acme' })).status).toBe('created')
    await t.advance('1h')
    expect((await t.enqueue(index, 4, throttle)).status).toBe('created')
    await t.drain()
    expect(ran).toEqual([1, 3, 4])
  })

  test('enqueueMany: the same value twice in one batch is one job with the last payload', async () => {
    const { index, ran } = indexer()
    await using t = testChronos({ jobs: [index], store })
    const results = await t.enqueueMany(index, [1, 2, 3, 4], payload => ({ ...REPLACE, unique: `v${payload % 2}` }))
    expect(results.map(({ status }) => status)).toEqual(['created', 'created', 'replaced', 'replaced'])
    expect(results[2]).toEqual({ id: results[0]!.id, status: 'replaced' })
    await t.drain()
    expect(ran.sort()).toEqual([3, 4])
  })

  test('a replaced payload is no enqueued job: no event, no count, and the ledger is exact', async () => {
    const { index } = indexer()
    await using t = testChronos({ jobs: [index], store })
    const events: string[] = []
    t.chronos.on('job.enqueued', ({ id }) => events.push(id))
    const { id } = await t.enqueue(index, 1, DEBOUNCE)
    await t.enqueue(index, 2, DEBOUNCE)
    await t.drain()
    expect(events).toEqual([id])
    expect(await t.chronos.verify()).toMatchObject({ isSound: true, findings: [] })
  })

  test('an HTTP job takes the newest request, with its dependency', async () => {
    await using t = testChronos({ jobs: [], store })
    const post = (url: string) => t.chronos.http({ method: 'POST', url }, { ...REPLACE, delay: '1h' })
    const { id } = await post('https://one.example/hook')
    expect(await post('https://two.example/hook')).toEqual({ id, status: 'replaced' })
    expect(await t.jobs.get(id)).toMatchObject({
      payload: { url: 'https://two.example/hook' },
      dependency: 'https://two.example',
    })
  })
})

test('in a transaction of the memory store, the payload is replaced with the commit', async () => {
  const { index, ran } = indexer()
  await using t = testChronos({ jobs: [index] })
  const { id } = await t.enqueue(index, 1, { ...REPLACE, delay: '1m' })
  await t.transaction(async tx => {
    expect(await t.enqueue(index, 2, { ...REPLACE, tx })).toEqual({ id, status: 'replaced' })
    expect((await t.jobs.get(id))?.payload).toBe(1)
  })
  await t.drain()
  expect(ran).toEqual([2])
})
