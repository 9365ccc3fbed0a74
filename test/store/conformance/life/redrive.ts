import { type Bench, cancelled, died, retry, STRANGE_TEXTS, snoozed, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function redriveCases(bench: Bench, { describe, expect, it }: Suite): void {
  const NOTHING = { pending: 0, running: 0, retrying: 0, succeeded: 0, dead: 0, cancelled: 0 }

  describe('a redrive with a name', () => {
    it('marks the jobs that it starts', async () => {
      const id = await bench.ended(died())
      expect(await bench.redrive([id], { redriveId: 'r1' })).toMatchObject([
        { id, status: 'changed', job: { redriveId: 'r1', generation: 2, runAt: bench.now() } },
      ])
      expect(await bench.get(id)).toMatchObject({ redriveId: 'r1' })
      expect(await bench.listed({ redriveId: 'r1' })).toEqual([id])
      expect(await bench.listed({ redriveId: 'r1', state: 'waiting' })).toEqual([id])
      expect(await bench.listed({ redriveId: 'r1', state: 'dead' })).toEqual([])
      expect(await bench.listed({ redriveId: 'r2' })).toEqual([])
    })

    it('returns the same result if repeated, without another generation or time', async () => {
      const id = await bench.ended(died())
      const first = await bench.redrive([id], { redriveId: 'r1', delaysMs: [100] })
      bench.clock.advance(10)
      expect(await bench.redrive([id], { redriveId: 'r1', delaysMs: [100] })).toEqual(first)
      expect(await bench.get(id)).toMatchObject({ generation: 2 })
    })

    it.each([
      ['ran', snoozed(1000), 'waiting'],
      ['succeeded', succeeded(), 'succeeded'],
      ['died again', died(), 'dead'],
      ['was cancelled', cancelled(), 'cancelled'],
    ])('does not change a job if repeated that %s since', async (_word, end, state) => {
      const id = await bench.ended(died())
      await bench.redrive([id], { redriveId: 'r1' })
      await bench.settle(await bench.claimOne(), end)
      expect(await bench.redrive([id], { redriveId: 'r1' })).toMatchObject([
        { id, status: 'changed', job: { state, generation: 2 } },
      ])
      expect(await bench.claim()).toEqual([])
    })

    it('refuses a job that another redrive has started', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id], { redriveId: 'r1' })
      expect(await bench.redrive([id], { redriveId: 'r2' })).toMatchObject([
        { status: 'refused', job: { redriveId: 'r1' } },
      ])
    })

    it('takes over a job that died again in another', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id], { redriveId: 'r1' })
      await bench.settle(await bench.claimOne(), died())
      expect(await bench.redrive([id], { redriveId: 'r2' })).toMatchObject([
        { status: 'changed', job: { redriveId: 'r2', generation: 3 } },
      ])
      expect(await bench.store.tally('r1')).toEqual(NOTHING)
    })

    it('is removed when a job is retried manually', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id], { redriveId: 'r1' })
      await bench.settle(await bench.claimOne(), died())
      await bench.redrive([id])
      expect(await bench.get(id)).not.toHaveProperty('redriveId')
    })

    it('names conflicts with a `unique` value per job', async () => {
      const id = await bench.ended(died(), { unique: 'u' })
      const conflictId = await bench.add({ unique: 'u' })
      const free = await bench.ended(died(), { queue: 'other' })
      expect(await bench.redrive([id, free], { redriveId: 'r1' })).toMatchObject([
        { id, status: 'refused', conflictId },
        { id: free, status: 'changed' },
      ])
      expect(await bench.get(id)).not.toHaveProperty('redriveId')
    })

    it('starts a job once, however often it is in the list', async () => {
      const id = await bench.ended(died())
      expect(await bench.redrive([id, id], { redriveId: 'r1' })).toMatchObject([
        { status: 'changed', job: { generation: 2 } },
        { status: 'changed', job: { generation: 2 } },
      ])
    })

    it.each(STRANGE_TEXTS)('may be called %s', async (_name, redriveId) => {
      const id = await bench.ended(died())
      await bench.redrive([id], { redriveId })
      expect(await bench.get(id)).toMatchObject({ redriveId })
      expect(await bench.listed({ redriveId })).toEqual([id])
      expect(await bench.store.tally(redriveId)).toMatchObject({ pending: 1 })
    })
  })

  describe('a redrive with delays', () => {
    it('gives each job its own', async () => {
      const ids = [await bench.ended(died()), await bench.ended(died()), await bench.ended(died())]
      await bench.redrive(ids, { redriveId: 'r1', delaysMs: [0, 100.5] })
      const delays = await Promise.all(ids.map(async id => (await bench.get(id)).runAt - bench.now()))
      expect(delays).toEqual([0, 101, 0])
    })

    it('assigns them by position in its list, including unknown jobs', async () => {
      const id = await bench.ended(died())
      await bench.redrive([uuid(999_999), id], { delaysMs: [5, 70] })
      expect((await bench.get(id)).runAt).toBe(bench.now() + 70)
    })

    it('keeps a deadline that has not passed yet', async () => {
      const id = await bench.ended(died(), { deadline: { delayMs: 50 } })
      await bench.redrive([id], { delaysMs: [100] })
      expect(await bench.get(id)).toMatchObject({ deadline: bench.now() + 50 })
    })
  })

  describe('tally', () => {
    it('is zero for an unknown redrive', async () => {
      await bench.ended(died())
      expect(await bench.store.tally('r1')).toEqual(NOTHING)
    })

    it('returns the progress of the jobs of a redrive', async () => {
      const ids: string[] = []
      for (let count = 0; count < 8; count++) ids.push(await bench.ended(died()))
      await bench.redrive(ids.slice(0, 7), { redriveId: 'r1', delaysMs: [0, 1, 2, 3, 4, 5, 6] })
      expect(await bench.store.tally('r1')).toEqual({ ...NOTHING, pending: 7 })
      const ends = [retry(1e6), snoozed(1e6), succeeded(), died(), cancelled()]
      for (const end of ends) {
        await bench.settle(await bench.claimOne(), end)
        bench.clock.advance(1)
      }
      await bench.claimOne()
      // The one that snoozed has not had a run that counts.
      const expected = { pending: 2, running: 1, retrying: 1, succeeded: 1, dead: 1, cancelled: 1 }
      expect(await bench.store.tally('r1')).toEqual(expected)
    })
  })
}
