import { REMOVED_KEY_MS } from '../../../../src/store/store.js'
import { ANY_TEXTS, type Bench, cancelled, died, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

const KEYED = { key: 'order:1', payloadHash: 'hash' } as const

export function keyCases(bench: Bench, { describe, expect, it }: Suite): void {
  const put = async (given: Parameters<Bench['job']>[0]) => (await bench.store.enqueue([bench.job(given)]))[0]!
  const forgetJob = (keyMs: number) =>
    bench.store.prune({ olderThanMs: { succeeded: 0, dead: 0, cancelled: 0 }, keyMs, limit: 100 })

  describe('key', () => {
    it('returns the first job to every later enqueue', async () => {
      const id = await bench.add(KEYED)
      expect(await put(KEYED)).toEqual({ status: 'existing', id })
      expect(await bench.store.count({}, 10)).toMatchObject({ value: 1 })
    })

    it('returns conflict and the stored hash for another payload', async () => {
      const id = await bench.add(KEYED)
      expect(await put({ ...KEYED, payloadHash: 'other' })).toEqual({ status: 'conflict', id, payloadHash: 'hash' })
      expect(await bench.store.count({}, 10)).toMatchObject({ value: 1 })
    })

    it('returns created again to the call that created the job, after a lost response', async () => {
      const job = bench.job(KEYED)
      await bench.store.enqueue([job])
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
    })

    it('has one winner within a batch', async () => {
      const [first, second, third] = [bench.job(KEYED), bench.job(KEYED), bench.job({ ...KEYED, payloadHash: 'other' })]
      expect(await bench.store.enqueue([first, second, third])).toEqual([
        { status: 'created', id: first.id },
        { status: 'existing', id: first.id },
        { status: 'conflict', id: first.id, payloadHash: 'hash' },
      ])
    })

    it('has one winner among concurrent calls', async () => {
      const answers = (await Promise.all(Array.from({ length: 20 }, () => put(KEYED)))) as readonly { status: string }[]
      expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 'existing')).toHaveLength(19)
    })

    it('is scoped by job name', async () => {
      await bench.add({ ...KEYED, name: 'one' })
      expect(await put({ ...KEYED, name: 'two' })).toMatchObject({ status: 'created' })
    })

    it('is scoped by tenant, and no tenant is a scope of its own', async () => {
      await bench.add(KEYED)
      expect(await put({ ...KEYED, tenantId: '' })).toMatchObject({ status: 'created' })
      expect(await put({ ...KEYED, tenantId: '0' })).toMatchObject({ status: 'created' })
      expect(await put({ ...KEYED, tenantId: 'acme' })).toMatchObject({ status: 'created' })
      expect(await put({ ...KEYED, tenantId: 'acme' })).toMatchObject({ status: 'existing' })
    })

    it('is independent of the queue', async () => {
      await bench.add({ ...KEYED, queue: 'one' })
      expect(await put({ ...KEYED, queue: 'two' })).toMatchObject({ status: 'existing' })
    })

    it.each(ANY_TEXTS)('is compared by its exact text: %s', async (_name, key) => {
      await bench.add({ ...KEYED, key })
      expect(await put({ ...KEYED, key })).toMatchObject({ status: 'existing' })
      expect(await put({ ...KEYED, key: `${key}x` })).toMatchObject({ status: 'created' })
      expect(await put({ ...KEYED, key: `X${key}` })).toMatchObject({ status: 'created' })
    })

    it('is case-sensitive', async () => {
      await bench.add({ ...KEYED, key: 'a' })
      expect(await put({ ...KEYED, key: 'A' })).toMatchObject({ status: 'created' })
    })

    it.each([
      ['succeeded', succeeded()],
      ['died', died()],
      ['was cancelled', cancelled()],
    ])('is remembered after its job %s', async (_word, end) => {
      const id = await bench.ended(end, KEYED)
      bench.clock.advance(365 * 86_400_000)
      expect(await put(KEYED)).toEqual({ status: 'existing', id })
    })

    it('is remembered for a while after its job was pruned', async () => {
      const id = await bench.ended(succeeded(), KEYED)
      expect(await forgetJob(1000)).toMatchObject({ pruned: { succeeded: 1 }, keys: 0 })
      bench.clock.advance(999)
      expect(await put(KEYED)).toEqual({ status: 'existing', id })
      expect(await bench.store.get(id)).toBeUndefined()
    })

    it('still returns conflict after its job was pruned', async () => {
      const id = await bench.ended(succeeded(), KEYED)
      await forgetJob(1000)
      expect(await put({ ...KEYED, payloadHash: 'other' })).toEqual({ status: 'conflict', id, payloadHash: 'hash' })
    })

    it('is free again after its time, also before a prune', async () => {
      await bench.ended(succeeded(), KEYED)
      await forgetJob(1000)
      bench.clock.advance(1000)
      expect(await put({ ...KEYED, payloadHash: 'other' })).toMatchObject({ status: 'created' })
      expect(await put({ ...KEYED, payloadHash: 'other' })).toMatchObject({ status: 'existing' })
    })

    it('belongs to its new job when its time is over, and stays when the old time is cleaned up', async () => {
      await bench.ended(succeeded(), KEYED)
      await forgetJob(1000)
      bench.clock.advance(1000)
      const id = await bench.add(KEYED)
      expect(await forgetJob(1000)).toMatchObject({ keys: 0 })
      expect(await put(KEYED)).toEqual({ status: 'existing', id })
    })

    it('does not bring a pruned job back when its call is repeated', async () => {
      const job = bench.job(KEYED)
      await bench.store.enqueue([job])
      await bench.settle(await bench.claimOne(), succeeded())
      await forgetJob(1000)
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
      expect(await bench.store.count({}, 1)).toMatchObject({ value: 0 })
    })

    it('is remembered for a day after its job was removed', async () => {
      const id = await bench.add(KEYED)
      await bench.store.remove([id])
      bench.clock.advance(REMOVED_KEY_MS - 1)
      expect(await put(KEYED)).toEqual({ status: 'existing', id })
      bench.clock.advance(1)
      expect(await put(KEYED)).toMatchObject({ status: 'created' })
    })

    it('is not taken by a job that was not created', async () => {
      const id = await bench.add({ unique: 'u' })
      expect(await put({ ...KEYED, unique: 'u' })).toEqual({ status: 'existing', id })
      expect(await put(KEYED)).toMatchObject({ status: 'created' })
    })

    it('wins over `unique`', async () => {
      await bench.add({ unique: 'u' })
      const id = await bench.add(KEYED)
      expect(await put({ ...KEYED, unique: 'u' })).toEqual({ status: 'existing', id })
    })
  })

  describe('unique', () => {
    it('returns the live job while it waits', async () => {
      const id = await bench.add({ unique: 'u', runAt: { delayMs: 5000 } })
      expect(await put({ unique: 'u' })).toEqual({ status: 'existing', id })
    })

    it('returns the live job while it runs', async () => {
      const { id } = await bench.running({ unique: 'u' })
      expect(await put({ unique: 'u', payload: '"other"' })).toEqual({ status: 'existing', id })
    })

    it.each([
      ['succeeded', succeeded()],
      ['died', died()],
      ['was cancelled', cancelled()],
    ])('is free after its job %s', async (_word, end) => {
      await bench.ended(end, { unique: 'u' })
      expect(await put({ unique: 'u' })).toMatchObject({ status: 'created' })
    })

    it('has one winner within a batch', async () => {
      const [first, second] = [bench.job({ unique: 'u' }), bench.job({ unique: 'u' })]
      expect(await bench.store.enqueue([first, second])).toEqual([
        { status: 'created', id: first.id },
        { status: 'existing', id: first.id },
      ])
    })

    it('is scoped by tenant and name, and no tenant is a scope of its own', async () => {
      await bench.add({ unique: 'u' })
      expect(await put({ unique: 'u', tenantId: 'acme' })).toMatchObject({ status: 'created' })
      expect(await put({ unique: 'u', tenantId: '' })).toMatchObject({ status: 'created' })
      expect(await put({ unique: 'u', tenantId: '0' })).toMatchObject({ status: 'created' })
      expect(await put({ unique: 'u', name: 'other' })).toMatchObject({ status: 'created' })
      expect(await put({ unique: 'u', queue: 'other' })).toMatchObject({ status: 'existing' })
    })

    it('returns created again to the call that created the job', async () => {
      const job = bench.job({ unique: 'u' })
      await bench.store.enqueue([job])
      expect(await bench.store.enqueue([job])).toEqual([{ status: 'created', id: job.id }])
    })

    it.each(ANY_TEXTS)('is compared by its exact text: %s', async (_name, unique) => {
      await bench.add({ unique })
      expect(await put({ unique })).toMatchObject({ status: 'existing' })
      expect(await put({ unique: `${unique}x` })).toMatchObject({ status: 'created' })
    })
  })
}
