import type { PartialPolicy } from '../../../../src/core/policy/policy.js'
import { ANY_TEXTS, type Bench, STRANGE_TEXTS, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function enqueueCases(bench: Bench, { describe, expect, it }: Suite): void {
  describe('enqueue', () => {
    it('stores a job with only the required fields', async () => {
      const id = await bench.add({ payload: '{"to":"ada"}' })
      expect(await bench.get(id)).toEqual({
        id,
        name: 'send-mail',
        queue: 'default',
        priority: 5,
        delivery: 'at-least-once',
        payload: '{"to":"ada"}',
        tags: [],
        state: 'waiting',
        runAt: bench.now(),
        createdAt: bench.now(),
        generation: 1,
        run: 0,
        attempt: 0,
        snoozes: 0,
        releases: 0,
        losses: 0,
        strikes: 0,
        suspect: false,
        begun: false,
        cancelRequested: false,
      })
    })

    it('stores every field', async () => {
      const given = {
        name: 'charge-card',
        queue: 'payments',
        priority: 9,
        delivery: 'at-most-once',
        payload: '[1,2]',
        payloadHash: 'hash',
        runAt: { delayMs: 1000 },
        deadline: { delayMs: 60_000 },
        timeoutMs: 5000,
        tenantId: 'acme',
        key: 'order:1',
        unique: 'order-1',
        tags: ['red', 'blue'],
        override: { maxRetries: 7, cap: '1h' },
        policyId: 'policy-1',
      } as const
      const id = await bench.add(given)
      const { payloadHash, ...kept } = given
      const times = { runAt: bench.now() + 1000, deadline: bench.now() + 60_000, createdAt: bench.now() }
      expect(await bench.get(id)).toMatchObject({ ...kept, ...times })
    })

    it('makes a job without a delay due at once', async () => {
      const id = await bench.add()
      expect((await bench.claimOne()).id).toBe(id)
    })

    it('keeps an absolute time as it is, also one in the past', async () => {
      const id = await bench.add({ runAt: { at: 1234 }, deadline: { at: bench.now() + 5 } })
      expect(await bench.get(id)).toMatchObject({ runAt: 1234, deadline: bench.now() + 5 })
    })

    it('rounds a time up, never down', async () => {
      const id = await bench.add({ runAt: { delayMs: 0.2 } })
      expect((await bench.get(id)).runAt).toBe(bench.now() + 1)
    })

    it('returns the same result for a repeated call', async () => {
      const jobs = [bench.job(), bench.job()]
      const first = await bench.store.enqueue(jobs)
      expect(await bench.store.enqueue(jobs)).toEqual(first)
      expect(await bench.store.count({}, 10)).toEqual({ value: 2, relation: 'exact' })
    })

    it('does not change a job that is enqueued again, in any state', async () => {
      const job = bench.job()
      await bench.store.enqueue([job])
      const { token, workerId, leaseUntil, ...facts } = await bench.claimOne()
      await bench.store.enqueue([{ ...job, payload: '"other"', priority: 1 }])
      expect(await bench.get(job.id)).toMatchObject({ ...facts, state: 'running' })
    })

    it('answers in the order of the batch', async () => {
      const jobs = Array.from({ length: 20 }, () => bench.job())
      const answers = await bench.store.enqueue(jobs)
      expect(answers).toEqual(jobs.map(({ id }) => ({ status: 'created', id })))
    })

    it('takes an empty batch', async () => {
      expect(await bench.store.enqueue([])).toEqual([])
    })

    it('takes a batch of thousands', async () => {
      await bench.addMany(2500)
      expect(await bench.store.count({}, 10_000)).toEqual({ value: 2500, relation: 'exact' })
    })

    it('creates one job if a batch contains it twice', async () => {
      const job = bench.job()
      const created = { status: 'created', id: job.id }
      expect(await bench.store.enqueue([job, job])).toEqual([created, created])
      expect(await bench.store.count({}, 10)).toMatchObject({ value: 1 })
    })

    it('accepts many concurrent calls', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => bench.store.enqueue([bench.job()])))
      expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(50)
      expect(await bench.store.count({}, 100)).toMatchObject({ value: 50 })
    })

    it('accepts ids that do not grow', async () => {
      await bench.store.enqueue([bench.job({ id: uuid(9000) }), bench.job({ id: uuid(8000) })])
      expect((await bench.claim()).map(({ id }) => id)).toEqual([uuid(9000), uuid(8000)])
    })

    it('copies the policy, so that later changes have no effect', async () => {
      const override: { maxRetries: number } & PartialPolicy = { maxRetries: 3 }
      const id = await bench.add({ override })
      override.maxRetries = 4
      expect((await bench.get(id)).override).toEqual({ maxRetries: 3 })
    })

    it('copies the tags, so that later changes have no effect', async () => {
      const tags = ['a']
      const id = await bench.add({ tags })
      tags.push('b')
      expect((await bench.get(id)).tags).toEqual(['a'])
    })

    it('refuses a transaction that it does not support', async () => {
      await expect(bench.store.enqueue([bench.job()], {})).rejects.toMatchObject({ code: 'STORE_NOT_SUPPORTED' })
      expect(await bench.store.count({}, 1)).toMatchObject({ value: 0 })
    })

    it.each<[string, string]>([
      ['an empty text', ''],
      ['null', 'null'],
      ['a long text', JSON.stringify('x'.repeat(1_000_000))],
      ['a text longer than a row', JSON.stringify('é'.repeat(401))],
      ['an escaped NUL', '"a\\u0000b"'],
      ['an escaped lone surrogate', '"\\ud800"'],
      ['numbers as they were written', '[1.0,1e3,12345678901234567890]'],
      ...STRANGE_TEXTS,
    ])('returns the payload unchanged: %s', async (_name, payload) => {
      const id = await bench.add({ payload })
      expect((await bench.get(id)).payload).toBe(payload)
      expect((await bench.claimOne()).payload).toBe(payload)
    })

    it.each(ANY_TEXTS)('gives every other text back exactly: %s', async (_name, text) => {
      const texts = {
        name: text,
        queue: text,
        tenantId: text,
        key: text,
        unique: text,
        policyId: text,
        tags: [text, 'plain', text],
      }
      const id = await bench.add({ ...texts, payloadHash: text })
      expect(await bench.get(id)).toMatchObject(texts)
      const { unique, ...claimed } = texts
      expect(await bench.claimOne({ queues: [text] })).toMatchObject(claimed)
    })
  })
}
