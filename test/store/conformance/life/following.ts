import type { Job } from '../../../../src/core/job/job.js'
import type { NewJob, RunEnd } from '../../../../src/store/store.js'
import { type Bench, cancelled, died, handedBack, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

/** Creates a follower for every job, and records the jobs. */
function follower(bench: Bench) {
  const asked: Job[] = []
  const made: NewJob[] = []
  const following = (job: Job): readonly NewJob[] => {
    asked.push(job)
    made.push(bench.job({ queue: 'deliveries', payload: JSON.stringify(job.id) }))
    return [made.at(-1)!]
  }
  return { asked, made, following }
}

export function followingCases(bench: Bench, { describe, expect, it }: Suite): void {
  const deliveries = () => bench.listed({ queue: 'deliveries' })

  describe('jobs that follow the change of another', () => {
    it('are created when a waiting job is cancelled, and see its new state', async () => {
      const id = await bench.add({ webhook: 'https://example.com/hook' })
      const { asked, made, following } = follower(bench)
      expect(await bench.cancel([id], following)).toMatchObject([{ status: 'changed' }])
      expect(asked).toMatchObject([
        { id, state: 'cancelled', finishedAt: bench.now(), webhook: 'https://example.com/hook' },
      ])
      expect(await deliveries()).toEqual([made[0]!.id])
      expect((await bench.store.queues()).map(({ name }) => name)).toContain('deliveries')
    })

    it('are not created by a cancel without effect, or without effect yet', async () => {
      const running = await bench.running()
      const done = await bench.ended(succeeded())
      const { asked, following } = follower(bench)
      await bench.cancel([running.id, done, bench.id()], following)
      expect(asked).toEqual([])
      expect(await deliveries()).toEqual([])
    })

    it('are not created again when a cancel is repeated', async () => {
      const id = await bench.add()
      const { made, following } = follower(bench)
      await bench.cancel([id], following)
      await bench.cancel([id], following)
      expect(made).toHaveLength(1)
    })

    it('are created when a deadline has passed', async () => {
      const id = await bench.add({ deadline: { delayMs: 100 } })
      await bench.add({ deadline: { delayMs: 1000 } })
      bench.clock.advance(100)
      const { asked, made, following } = follower(bench)
      expect(await bench.expireDeadlines(10, following)).toMatchObject([{ id }])
      expect(asked).toMatchObject([{ id, state: 'dead', reason: 'expired' }])
      expect(await deliveries()).toEqual([made[0]!.id])
      expect(await bench.expireDeadlines(10, following)).toEqual([])
      expect(await deliveries()).toHaveLength(1)
    })

    it('are created when a dead job is discarded', async () => {
      const id = await bench.ended(died())
      const alive = await bench.add()
      const { asked, made, following } = follower(bench)
      await bench.discard([id, alive], following)
      expect(asked).toMatchObject([{ id, state: 'dead', reason: 'discarded' }])
      expect(await deliveries()).toEqual([made[0]!.id])
    })

    it.each([
      ['cancel', async (id: string, fail: () => never) => bench.cancel([id], fail)],
      ['discard', async (id: string, fail: () => never) => bench.discard([id], fail)],
      ['expireDeadlines', async (_id: string, fail: () => never) => bench.expireDeadlines(10, fail)],
    ])('are atomic with it: if they fail, %s has changed nothing', async (verb, act) => {
      const id = verb === 'discard' ? await bench.ended(died()) : await bench.add({ deadline: { delayMs: 100 } })
      bench.clock.advance(200)
      const before = await bench.get(id)
      const fail = (): never => {
        throw new Error('the process dies here')
      }
      await expect(act(id, fail)).rejects.toThrow('the process dies here')
      expect(await bench.get(id)).toEqual(before)
    })

    it('are in the ledger', async () => {
      const ids = await bench.addMany(2)
      await bench.cancel(ids, follower(bench).following)
      const { queues } = await bench.store.audit()
      const found = queues.find(({ queue }) => queue === 'deliveries')
      expect(found).toMatchObject({ ledger: { enqueued: 2 }, rows: { waiting: 2 } })
      expect(found?.idSum).toBe(found?.ledger.idSum)
    })
  })

  describe('jobs that are created when a run was cancelled meanwhile', () => {
    const ends: [string, RunEnd][] = [
      ['retry', retry(1000)],
      ['snooze', snoozed(1000)],
      ['hand-back', handedBack()],
    ]

    it.each(ends)('take the place of those of a %s', async (_word, end) => {
      const job = await bench.running()
      await bench.cancel([job.id])
      const [spawn, instead] = [[bench.job({ queue: 'retrying' })], [bench.job({ queue: 'cancelled' })]]
      const both = { ...end, ...(end.kind === 'ended' && { spawn }), spawnIfCancelled: instead }
      expect(await bench.settle(job, both)).toMatchObject({ status: 'settled', state: 'cancelled' })
      expect(await bench.store.get(spawn[0]!.id)).toBeUndefined()
      expect(await bench.get(instead[0]!.id)).toMatchObject({ queue: 'cancelled', state: 'waiting' })
    })

    it.each(ends)('do not come with a %s without a request to cancel', async (_word, end) => {
      const job = await bench.running()
      const instead = [bench.job({ queue: 'cancelled' })]
      expect(await bench.settle(job, { ...end, spawnIfCancelled: instead })).toMatchObject({ state: 'waiting' })
      expect(await bench.store.get(instead[0]!.id)).toBeUndefined()
    })

    it('are not replaced if the outcome is a cancellation', async () => {
      const job = await bench.running()
      const spawn = [bench.job({ queue: 'cancelled' })]
      await bench.settle(job, { ...cancelled(), spawn })
      expect(await bench.get(spawn[0]!.id)).toMatchObject({ queue: 'cancelled' })
    })
  })

  describe('the webhook of a job', () => {
    it('is returned by a claim, by a read and among expired runs', async () => {
      const webhook = 'https://example.com/hook?a=1'
      const id = await bench.add({ webhook })
      expect(await bench.get(id)).toMatchObject({ webhook })
      expect(await bench.claimOne()).toMatchObject({ id, webhook })
      bench.clock.advance(1e6)
      expect((await bench.store.expired({ workers: 10 })).jobs).toMatchObject([{ id, webhook }])
    })

    it('is absent by default', async () => {
      const id = await bench.add({ tenantId: 'a' })
      expect(await bench.get(id)).not.toHaveProperty('webhook')
      expect(await bench.claimOne()).not.toHaveProperty('webhook')
    })

    it('is kept by a redrive', async () => {
      const id = await bench.ended(died(), { webhook: 'https://example.com/' })
      await bench.redrive([id])
      expect(await bench.get(id)).toMatchObject({ webhook: 'https://example.com/' })
    })
  })

  describe('the trace that a job was made in', () => {
    it('is returned by a claim, by a read and among expired runs, and is absent without tracing', async () => {
      const trace = '{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}'
      const plain = await bench.add()
      const id = await bench.add({ trace })
      expect(await bench.get(plain)).not.toHaveProperty('trace')
      expect(await bench.get(id)).toMatchObject({ trace })
      expect(await bench.claimOne()).not.toHaveProperty('trace')
      expect(await bench.claimOne()).toMatchObject({ id, trace })
      bench.clock.advance(1e6)
      expect((await bench.store.expired({ workers: 10 })).jobs).toContainEqual(expect.objectContaining({ id, trace }))
    })
  })
}
