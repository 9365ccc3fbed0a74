import { type Bench, cancelled, died, leaseOf, lost, retry, snoozed, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function manualCases(bench: Bench, { describe, expect, it }: Suite): void {
  const unknown = uuid(999_999)

  describe('cancel', () => {
    it('ends a waiting job', async () => {
      const id = await bench.add()
      const [answer] = await bench.cancel([id])
      expect(answer).toMatchObject({ id, status: 'changed', job: { id, state: 'cancelled', finishedAt: bench.now() } })
      expect(await bench.claim()).toEqual([])
      expect(await bench.history(id)).toEqual([])
    })

    it('asks a running job to stop', async () => {
      const job = await bench.running()
      const [answer] = await bench.cancel([job.id])
      expect(answer).toMatchObject({
        id: job.id,
        status: 'requested',
        job: { state: 'running', cancelRequested: true },
      })
      expect(await bench.store.extend([leaseOf(job)], 1000)).toEqual(['cancel-requested'])
    })

    it('asks again when it is repeated', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      expect(await bench.cancel([job.id])).toMatchObject([{ status: 'requested' }])
    })

    it('cancels once: repeated, it is refused and shows that it was done', async () => {
      const id = await bench.add()
      await bench.cancel([id])
      const before = await bench.get(id)
      bench.clock.advance(5)
      expect(await bench.cancel([id])).toEqual([{ id, status: 'refused', job: before }])
    })

    it.each([
      ['succeeded', succeeded()],
      ['died', died()],
    ])('refuses a job that %s', async (_word, end) => {
      const id = await bench.ended(end)
      const job = await bench.get(id)
      expect(await bench.cancel([id])).toEqual([{ id, status: 'refused', job }])
    })

    it('answers in the order of the batch', async () => {
      const [first, second] = await bench.addMany(2)
      expect(await bench.cancel([second!, unknown, first!])).toMatchObject([
        { id: second, status: 'changed' },
        { id: unknown, status: 'not-found' },
        { id: first, status: 'changed' },
      ])
    })

    it('reports an invalid id as not found', async () => {
      expect(await bench.cancel(['', 'x', '%'])).toMatchObject(Array(3).fill({ status: 'not-found' }))
    })

    it('cancels a job that waits for a retry, and keeps its history', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(1000))
      expect(await bench.cancel([job.id])).toMatchObject([{ status: 'changed', job: { attempt: 1 } }])
      expect(await bench.history(job.id)).toHaveLength(1)
    })

    it('is respected by the sweep of a job whose worker is gone', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      expect(await bench.settle(job, lost())).toMatchObject({ state: 'cancelled' })
      expect(await bench.claim()).toEqual([])
    })
  })

  describe('reschedule', () => {
    it('moves a waiting job to another time', async () => {
      const id = await bench.add()
      expect(await bench.reschedule(id, { delayMs: 100 })).toMatchObject({
        status: 'changed',
        job: { id, state: 'waiting', runAt: bench.now() + 100 },
      })
      expect(await bench.claim()).toEqual([])
      bench.clock.advance(100)
      expect(await bench.claim()).toHaveLength(1)
    })

    it('runs a job now that waited for a retry, and keeps its count', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(60_000))
      await bench.reschedule(job.id, { delayMs: 0 })
      expect(await bench.claimOne()).toMatchObject({ id: job.id, attempt: 2 })
    })

    it('takes an absolute time', async () => {
      const id = await bench.add()
      expect(await bench.reschedule(id, { at: 42 })).toMatchObject({ job: { runAt: 42 } })
    })

    it('refuses a job that runs or has ended', async () => {
      const ended = await bench.ended(succeeded())
      const { id } = await bench.running()
      expect(await bench.reschedule(id, { delayMs: 5 })).toMatchObject({
        status: 'refused',
        job: { state: 'running' },
      })
      expect(await bench.reschedule(ended, { delayMs: 5 })).toMatchObject({ status: 'refused' })
    })

    it('reports an unknown job', async () => {
      expect(await bench.reschedule(unknown, { delayMs: 5 })).toEqual({ id: unknown, status: 'not-found' })
    })
  })

  describe('redrive', () => {
    it('starts a dead job again, as a new generation', async () => {
      const job = await bench.running({ tags: ['t'], override: { maxRetries: 1 } })
      await bench.store.report([{ lease: leaseOf(job), logs: [], progress: '1' }])
      await bench.settle(
        job,
        died('poison', { losses: 1, strikes: 3, releases: 2, snoozes: 4, backoffMs: 9, failedAt: 8, suspect: true }),
      )
      bench.clock.advance(77)
      const [answer] = await bench.redrive([job.id])
      const { id, name, queue, priority, delivery, payload, tags, createdAt } = job
      const fresh = {
        snoozes: 0,
        releases: 0,
        losses: 0,
        strikes: 0,
        suspect: false,
        begun: false,
        cancelRequested: false,
      }
      const facts = { id, name, queue, priority, delivery, payload, tags, createdAt, override: { maxRetries: 1 } }
      const numbers = { generation: 2, run: 1, attempt: 0, runAt: bench.now() }
      expect(answer).toEqual({ id, status: 'changed', job: { ...facts, ...numbers, ...fresh, state: 'waiting' } })
    })

    it('starts a cancelled job again, which is not asked to stop any more', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      await bench.settle(job, cancelled())
      await bench.redrive([job.id])
      const again = await bench.claimOne()
      expect(again).toMatchObject({ generation: 2, run: 2, attempt: 1, cancelRequested: false })
      expect(await bench.store.begin([leaseOf(again)])).toEqual(['held'])
    })

    it('counts maxElapsed from its own first start', async () => {
      const id = await bench.ended(died())
      bench.clock.advance(1000)
      await bench.redrive([id])
      expect((await bench.claimOne()).firstStartedAt).toBe(bench.now())
    })

    it('is refused if repeated', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id])
      expect(await bench.redrive([id])).toMatchObject([{ status: 'refused', job: { state: 'waiting', generation: 2 } }])
      await bench.claimOne()
      expect(await bench.redrive([id])).toMatchObject([{ status: 'refused', job: { state: 'running', generation: 2 } }])
    })

    it('refuses a job that succeeded: it never runs again', async () => {
      const id = await bench.ended(succeeded())
      expect(await bench.redrive([id])).toMatchObject([{ id, status: 'refused', job: { generation: 1 } }])
      expect(await bench.claim()).toEqual([])
    })

    it('refuses a waiting job', async () => {
      const id = await bench.add()
      expect(await bench.redrive([id])).toMatchObject([{ status: 'refused' }])
    })

    it('refuses while another live job has its `unique` value, and names that', async () => {
      const id = await bench.ended(died(), { unique: 'u' })
      const conflictId = await bench.add({ unique: 'u' })
      expect(await bench.redrive([id])).toMatchObject([{ id, status: 'refused', conflictId, job: { state: 'dead' } }])
    })

    it('starts one of two dead jobs with the same `unique` value', async () => {
      const first = await bench.ended(died(), { unique: 'u' })
      const second = await bench.ended(died(), { unique: 'u' })
      expect(await bench.redrive([first, second])).toMatchObject([
        { id: first, status: 'changed' },
        { id: second, status: 'refused', conflictId: first },
      ])
    })

    it('does not conflict with its own key', async () => {
      const keyed = { key: 'k', payloadHash: 'h' }
      const id = await bench.ended(died(), keyed)
      expect(await bench.redrive([id])).toMatchObject([{ status: 'changed' }])
      expect(await bench.store.enqueue([bench.job(keyed)])).toEqual([{ status: 'existing', id }])
    })

    it('lifts a deadline that has passed, and keeps one that has not', async () => {
      const late = await bench.add({ deadline: { delayMs: 0 } })
      await bench.expireDeadlines(10)
      const early = await bench.ended(died(), { deadline: { delayMs: 5000 } })
      await bench.redrive([late, early])
      expect(await bench.get(late)).not.toHaveProperty('deadline')
      expect(await bench.get(early)).toMatchObject({ deadline: bench.now() + 5000 })
      expect(await bench.claim()).toHaveLength(2)
    })

    it('keeps history and logs of the generation before', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id])
      expect(await bench.history(id)).toHaveLength(1)
      expect(await bench.get(id)).not.toHaveProperty('error')
    })

    it('refuses a settlement of the old generation', async () => {
      const job = await bench.running()
      await bench.settle(job, died())
      await bench.redrive([job.id])
      expect(await bench.settle(job, succeeded())).toEqual({ status: 'lost' })
      expect(await bench.settle(job, snoozed(1))).toEqual({ status: 'lost' })
      expect(await bench.settle(job, died())).toEqual({ status: 'already' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'waiting', generation: 2 })
    })

    it('reports an unknown job', async () => {
      expect(await bench.redrive([unknown])).toEqual([{ id: unknown, status: 'not-found' }])
    })
  })

  describe('remove', () => {
    it('removes an ended job with all of its data', async () => {
      const job = await bench.running()
      await bench.store.report([{ lease: leaseOf(job), logs: [{ at: 1, message: 'x' }] }])
      await bench.settle(job, died())
      expect(await bench.store.remove([job.id])).toMatchObject([
        { id: job.id, status: 'changed', job: { state: 'dead' } },
      ])
      expect(await bench.store.get(job.id)).toBeUndefined()
      expect(await bench.history(job.id)).toEqual([])
      expect(await bench.logs(job.id)).toEqual([])
    })

    it('removes a waiting job, which then does not run', async () => {
      const id = await bench.add({ payload: JSON.stringify('x'.repeat(2000)), unique: 'u' })
      expect(await bench.store.remove([id])).toMatchObject([{ status: 'changed' }])
      expect(await bench.claim()).toEqual([])
      expect(await bench.store.enqueue([bench.job({ unique: 'u' })])).toMatchObject([{ status: 'created' }])
    })

    it('refuses a running job', async () => {
      const { id } = await bench.running()
      expect(await bench.store.remove([id])).toMatchObject([{ id, status: 'refused' }])
      expect(await bench.get(id)).toMatchObject({ state: 'running' })
    })

    it('reports an unknown or already removed job', async () => {
      const id = await bench.add()
      expect(await bench.store.remove([id, id, unknown])).toMatchObject([
        { status: 'changed' },
        { status: 'not-found' },
        { status: 'not-found' },
      ])
    })

    it('keeps no data of a removed job for a new job with the same id', async () => {
      const job = bench.job({ payload: JSON.stringify('x'.repeat(2000)) })
      await bench.store.enqueue([job])
      await bench.settle(await bench.claimOne(), died())
      await bench.store.remove([job.id])
      await bench.store.enqueue([{ ...job, payload: '1' }])
      expect(await bench.get(job.id)).toMatchObject({ payload: '1', run: 0, state: 'waiting' })
      expect(await bench.history(job.id)).toEqual([])
    })
  })
}
