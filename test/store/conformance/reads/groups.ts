import { type Bench, cancelled, died, lost, retry, STRANGE_TEXTS, snoozed, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function groupCases(bench: Bench, { describe, expect, it }: Suite): void {
  const GROUP = { fingerprint: 'f1', title: 'connect ECONNRESET <ip>' }
  const unknown = uuid(999_999)

  describe('fingerprints', () => {
    it('stay with a job that was enqueued with one, and are returned by its claim', async () => {
      const job = await bench.running({ fingerprint: 'mine' })
      expect(job).toMatchObject({ fingerprint: 'mine' })
      expect(await bench.get(job.id)).toMatchObject({ fingerprint: 'mine' })
    })

    it.each([
      ['waits again', retry(0)],
      ['died', died()],
    ])('are kept with the attempt, and on a job that %s', async (_word, end) => {
      const id = await bench.ended({ ...end, group: GROUP }, { fingerprint: 'mine' })
      expect(await bench.get(id)).toMatchObject({ fingerprint: 'f1' })
      expect(await bench.history(id)).toMatchObject([{ run: 1, fingerprint: 'f1' }])
    })

    it('are kept on a job that was cancelled instead of waiting again', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      await bench.settle(job, { ...retry(0), group: GROUP })
      expect(await bench.get(job.id)).toMatchObject({ state: 'cancelled', fingerprint: 'f1' })
    })

    it('are returned by the next claim', async () => {
      await bench.settle(await bench.running(), { ...retry(0), group: GROUP })
      expect(await bench.claimOne()).toMatchObject({ fingerprint: 'f1' })
    })

    it('stay as they are when a run succeeds, or ends without a group', async () => {
      const job = await bench.running()
      await bench.settle(job, { ...retry(0), group: GROUP })
      await bench.settle(await bench.claimOne(), retry(0))
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await bench.get(job.id)).toMatchObject({ state: 'succeeded', fingerprint: 'f1' })
      const [last, middle] = await bench.history(job.id)
      expect(last).not.toHaveProperty('fingerprint')
      expect(middle).not.toHaveProperty('fingerprint')
    })

    it('are kept by a redrive', async () => {
      const id = await bench.ended({ ...died(), group: GROUP })
      await bench.redrive([id])
      expect(await bench.get(id)).toMatchObject({ fingerprint: 'f1', state: 'waiting' })
    })

    it.each(STRANGE_TEXTS)('may be %s', async (_name, fingerprint) => {
      const id = await bench.ended({ ...died(), group: { ...GROUP, fingerprint } })
      expect(await bench.listed({ fingerprint })).toEqual([id])
      expect(await bench.history(id)).toMatchObject([{ fingerprint }])
    })

    it('are found by a filter, alone and with other conditions', async () => {
      const dead = [await bench.ended({ ...died(), group: GROUP }), await bench.ended({ ...died(), group: GROUP })]
      const waiting = await bench.ended({ ...retry(1e6), group: GROUP })
      await bench.ended({ ...died(), group: { ...GROUP, fingerprint: 'f2' } })
      await bench.ended(died())
      expect(await bench.listed({ fingerprint: 'f1' })).toEqual([waiting, ...[...dead].reverse()])
      expect(await bench.listed({ fingerprint: 'f1', state: 'dead' })).toEqual([...dead].reverse())
      expect(await bench.listed({ fingerprint: 'f1', state: 'dead', queue: 'other' })).toEqual([])
      expect(await bench.listed({ fingerprint: 'f', state: 'dead' })).toEqual([])
      expect(await bench.store.count({ fingerprint: 'f1', state: 'dead' }, 10)).toEqual({ value: 2, relation: 'exact' })
      expect(await bench.store.count({ fingerprint: 'f1', state: 'dead' }, 1)).toEqual({
        value: 1,
        relation: 'at-least',
      })
    })

    it('are found page by page', async () => {
      const ids: string[] = []
      for (let count = 0; count < 5; count++) ids.push(await bench.ended({ ...died(), group: GROUP }))
      const filter = { fingerprint: 'f1', state: 'dead' } as const
      const first = await bench.store.list(filter, { limit: 3 })
      const second = await bench.store.list(filter, { limit: 3, cursor: first.next! })
      expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids.reverse())
      expect(second).not.toHaveProperty('next')
    })
  })

  describe('acknowledge', () => {
    it('marks a dead job as seen', async () => {
      const id = await bench.ended(died())
      const before = await bench.get(id)
      bench.clock.advance(10)
      const job = { ...before, acknowledgedAt: bench.now() }
      expect(await bench.acknowledge([id])).toEqual([{ id, status: 'changed', job }])
      expect(await bench.get(id)).toEqual(job)
    })

    it('returns the same result if repeated, and keeps the first time', async () => {
      const id = await bench.ended(died())
      const first = await bench.acknowledge([id])
      bench.clock.advance(10)
      expect(await bench.acknowledge([id])).toEqual(first)
    })

    it('refuses a job that is not dead', async () => {
      const ids = [await bench.ended(succeeded()), await bench.ended(cancelled()), (await bench.running()).id]
      ids.push(await bench.add())
      const answers = await bench.acknowledge(ids)
      expect(answers.map(({ status }) => status)).toEqual(Array(4).fill('refused'))
      for (const id of ids) expect(await bench.get(id)).not.toHaveProperty('acknowledgedAt')
    })

    it('answers in the order of the batch', async () => {
      const id = await bench.ended(died())
      expect(await bench.acknowledge([unknown, id, 'nonsense'])).toMatchObject([
        { id: unknown, status: 'not-found' },
        { id, status: 'changed' },
        { id: 'nonsense', status: 'not-found' },
      ])
    })

    it('is found by a filter, either way', async () => {
      const seen = await bench.ended(died())
      const unseen = await bench.ended(died())
      const waiting = await bench.add()
      await bench.acknowledge([seen])
      expect(await bench.listed({ acknowledged: true })).toEqual([seen])
      expect(await bench.listed({ acknowledged: false })).toEqual([waiting, unseen])
      expect(await bench.listed({ acknowledged: false, state: 'dead' })).toEqual([unseen])
    })

    it('is over when the job starts again', async () => {
      const id = await bench.ended(died())
      await bench.acknowledge([id])
      await bench.redrive([id])
      expect(await bench.get(id)).not.toHaveProperty('acknowledgedAt')
      await bench.settle(await bench.claimOne(), died())
      expect(await bench.get(id)).not.toHaveProperty('acknowledgedAt')
    })
  })

  describe('discard', () => {
    it('discards a dead job and keeps its record', async () => {
      const id = await bench.ended({ ...died(), group: GROUP })
      const before = await bench.get(id)
      bench.clock.advance(10)
      const job = { ...before, reason: 'discarded', acknowledgedAt: bench.now() }
      expect(await bench.discard([id])).toEqual([{ id, status: 'changed', job }])
      expect(await bench.get(id)).toEqual(job)
      expect(await bench.history(id)).toHaveLength(1)
    })

    it('keeps the time at which it was acknowledged', async () => {
      const id = await bench.ended(died())
      await bench.acknowledge([id])
      const { acknowledgedAt } = await bench.get(id)
      bench.clock.advance(10)
      expect(await bench.discard([id])).toMatchObject([{ status: 'changed', job: { acknowledgedAt } }])
    })

    it('returns the same result if repeated', async () => {
      const id = await bench.ended(died())
      const first = await bench.discard([id])
      bench.clock.advance(10)
      expect(await bench.discard([id])).toEqual(first)
    })

    it('refuses a job that is not dead', async () => {
      const ids = [await bench.ended(succeeded()), (await bench.running()).id, await bench.add()]
      const answers = await bench.discard(ids)
      expect(answers.map(({ status }) => status)).toEqual(Array(3).fill('refused'))
      for (const id of ids) expect(await bench.get(id)).not.toHaveProperty('reason')
    })

    it('reports an unknown job', async () => {
      expect(await bench.discard([unknown])).toEqual([{ id: unknown, status: 'not-found' }])
    })

    it('is undone by a redrive', async () => {
      const id = await bench.ended(died())
      await bench.discard([id])
      expect(await bench.redrive([id])).toMatchObject([{ status: 'changed', job: { generation: 2 } }])
      const { reason, acknowledgedAt } = await bench.get(id)
      expect({ reason, acknowledgedAt }).toEqual({})
    })
  })

  describe('a time range', () => {
    it('finds jobs that ended in it, and none that has not ended', async () => {
      const early = await bench.ended(died())
      bench.clock.advance(10)
      const at = bench.now()
      const late = await bench.ended(succeeded())
      await bench.add()
      expect(await bench.listed({ finishedAfter: at })).toEqual([late])
      expect(await bench.listed({ finishedAfter: at - 10, finishedBefore: at })).toEqual([early])
      expect(await bench.listed({ finishedAfter: at - 9, finishedBefore: at })).toEqual([])
      expect(await bench.listed({ finishedAfter: at - 10, finishedBefore: at + 1, state: 'dead' })).toEqual([early])
      const both = { state: ['dead', 'succeeded'], finishedAfter: at - 10, finishedBefore: at + 1 } as const
      expect(await bench.listed(both)).toEqual([late, early])
      expect(await bench.store.count(both, 5)).toEqual({ value: 2, relation: 'exact' })
      expect(await bench.listed({ finishedBefore: at })).toEqual([early])
      expect(await bench.listed({ finishedBefore: at + 1 })).toEqual([late, early])
      expect(await bench.listed({ finishedBefore: at + 1, state: 'dead' })).toEqual([early])
      expect(await bench.listed({ finishedBefore: 0 })).toEqual([])
    })

    it('finds jobs by the start of their latest run', async () => {
      const start = bench.now()
      const job = await bench.running()
      bench.clock.advance(10)
      await bench.settle(job, retry(0))
      await bench.add({ runAt: { delayMs: 1_000 } })
      expect(await bench.listed({ startedAfter: start, startedBefore: start + 1 })).toEqual([job.id])
      await bench.claimOne()
      expect(await bench.listed({ startedAfter: start, startedBefore: start + 1 })).toEqual([])
      expect(await bench.listed({ startedAfter: start + 1 })).toEqual([job.id])
    })

    it('finds jobs with a failed run in it, also those that have succeeded since', async () => {
      const first = bench.now()
      const job = await bench.running()
      await bench.settle(job, { ...retry(0), group: GROUP })
      bench.clock.advance(10)
      const second = bench.now()
      const lostOne = { ...lost(), group: GROUP }
      await bench.settle(await bench.claimOne(), lostOne)
      bench.clock.advance(10)
      await bench.settle(await bench.claimOne(), succeeded())
      const dead = await bench.ended({ ...died(), group: GROUP }, { queue: 'other' })
      await bench.redrive([dead])
      await bench.ended(snoozed(5))
      await bench.ended(succeeded())
      expect(await bench.listed({ failedAfter: first, failedBefore: first + 1 })).toEqual([job.id])
      expect(await bench.listed({ failedAfter: second, failedBefore: second + 1 })).toEqual([job.id])
      expect(await bench.listed({ failedAfter: first + 1, failedBefore: second })).toEqual([])
      expect(await bench.listed({ failedAfter: second + 1 })).toEqual([dead])
      expect(await bench.listed({ failedBefore: second + 1 })).toEqual([job.id])
      expect(await bench.listed({ failedAfter: first })).toEqual([dead, job.id])
      expect(await bench.listed({ failedAfter: first, queue: 'other' })).toEqual([dead])
      expect(await bench.listed({ failedAfter: first, state: 'succeeded' })).toEqual([job.id])
      expect(await bench.store.count({ failedAfter: first }, 5)).toEqual({ value: 2, relation: 'exact' })
      expect(await bench.store.count({ failedAfter: first }, 1)).toEqual({ value: 1, relation: 'at-least' })
    })

    it('finds few jobs among thousands of others', async () => {
      const at = bench.now()
      const failed = await bench.ended({ ...died(), group: GROUP })
      bench.clock.advance(3_600_000)
      for (let count = 0; count < 3; count++) await bench.addMany(4000, { queue: 'other' })
      const range = { failedAfter: at, failedBefore: at + 1 }
      expect(await bench.listed(range)).toEqual([failed])
      expect(await bench.listed({ finishedAfter: at, finishedBefore: at + 1 })).toEqual([failed])
      expect(await bench.listed({ startedBefore: at + 1 })).toEqual([failed])
      expect(await bench.store.count(range, 5)).toEqual({ value: 1, relation: 'exact' })
    })

    it('goes with whether a job was retried', async () => {
      const once = await bench.ended(succeeded())
      const job = await bench.running()
      await bench.settle(job, { ...retry(0), group: GROUP })
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await bench.listed({ state: 'succeeded', retried: true, finishedAfter: 0 })).toEqual([job.id])
      expect(await bench.listed({ state: 'succeeded', retried: false, finishedAfter: 0 })).toEqual([once])
    })

    it('goes with a fingerprint', async () => {
      const early = await bench.ended({ ...died(), group: GROUP })
      bench.clock.advance(10)
      await bench.ended({ ...died(), group: GROUP })
      const filter = { fingerprint: 'f1', state: 'dead', finishedBefore: bench.now() } as const
      expect(await bench.listed(filter)).toEqual([early])
      expect(await bench.store.count(filter, 5)).toMatchObject({ value: 1 })
    })
  })
}
