import type { RunEnd } from '../../../../src/store/store.js'
import {
  type Bench,
  cancelled,
  died,
  handedBack,
  LEASE_MS,
  leaseOf,
  lost,
  retry,
  snoozed,
  succeeded,
} from '../bench.js'
import type { Suite } from '../runner.js'

/** Jobs of one claim that end at the same time, of which single ones were changed meanwhile. */
export function batchCases(bench: Bench, { describe, expect, it }: Suite): void {
  const ENDS: readonly (readonly [string, RunEnd, string])[] = [
    ['successes', succeeded(), 'succeeded'],
    ['successes with a result', succeeded('{"ok":true}'), 'succeeded'],
    ['retries', retry(500), 'waiting'],
    ['deaths', died(), 'dead'],
    ['snoozes', snoozed(10), 'waiting'],
    ['cancellations', cancelled(), 'cancelled'],
  ]

  async function claimed(count: number) {
    await bench.addMany(count)
    return bench.claim()
  }

  async function balances(): Promise<void> {
    await bench.store.fold(1000)
    expect((await bench.store.audit()).findings).toEqual([])
  }

  describe('settle of a batch', () => {
    it.each(ENDS)('ends each job once and records each run: %s', async (_, end, state) => {
      const jobs = await claimed(7)
      const answers = await bench.store.settle(jobs.map(job => bench.settlement(job, end)))
      expect(answers.map(answer => 'state' in answer && answer.state)).toEqual(jobs.map(() => state))
      for (const { id } of jobs) {
        expect(await bench.get(id)).toMatchObject({ state, run: 1 })
        expect(await bench.history(id)).toMatchObject([{ run: 1, workerId: 'worker-1' }])
      }
      await balances()
    })

    it.each(ENDS)('does not touch a job that the sweeper took away: %s', async (_, end, state) => {
      const jobs = await claimed(6)
      bench.clock.advance(LEASE_MS + 1)
      const swept = jobs[2]!
      await bench.settle(swept, lost(), { onlyIfExpired: true })
      const answers = await bench.store.settle(jobs.map(job => bench.settlement(job, end)))
      expect(answers.map(({ status }) => status)).toEqual(jobs.map(job => (job === swept ? 'lost' : 'settled')))
      expect(await bench.get(swept.id)).toMatchObject({ state: 'waiting', losses: 1 })
      for (const job of jobs) if (job !== swept) expect(await bench.get(job.id)).toMatchObject({ state })
      await balances()
    })

    it.each(ENDS)('answers `already` for the part that was settled before: %s', async (_, end) => {
      const jobs = await claimed(6)
      await bench.store.settle(jobs.slice(0, 3).map(job => bench.settlement(job, end)))
      const answers = await bench.store.settle(jobs.map(job => bench.settlement(job, end)))
      const half = ['already', 'already', 'already']
      expect(answers.map(({ status }) => status)).toEqual([...half, 'settled', 'settled', 'settled'])
      await balances()
    })

    it('counts a job once that is in the batch twice', async () => {
      const jobs = await claimed(4)
      const settlements = [...jobs, jobs[1]!].map(job => bench.settlement(job, succeeded()))
      const answers = await bench.store.settle(settlements)
      expect(answers.map(({ status }) => status)).toEqual(['settled', 'settled', 'settled', 'settled', 'already'])
      await balances()
    })

    it('cancels the one that was asked to stop and retries the others', async () => {
      const jobs = await claimed(5)
      await bench.cancel([jobs[1]!.id])
      const answers = await bench.store.settle(jobs.map(job => bench.settlement(job, retry(500))))
      const states = ['waiting', 'cancelled', 'waiting', 'waiting', 'waiting']
      expect(answers.map(answer => 'state' in answer && answer.state)).toEqual(states)
      expect(await bench.get(jobs[1]!.id)).toMatchObject({ state: 'cancelled' })
      await balances()
    })

    it('keeps the first of two ends of a job, also if the second one hands it back', async () => {
      const jobs = await claimed(4)
      const ends = jobs.map(job => bench.settlement(job, succeeded()))
      const answers = await bench.store.settle([...ends, bench.settlement(jobs[0]!, handedBack())])
      expect(answers.map(({ status }) => status)).toEqual([...jobs.map(() => 'settled'), 'lost'])
      expect(await bench.get(jobs[0]!.id)).toMatchObject({ state: 'succeeded', run: 1 })
      await balances()
    })

    it('leaves the rest of a claim running, renewable and sweepable', async () => {
      const jobs = await claimed(6)
      await bench.store.settle(jobs.slice(0, 4).map(job => bench.settlement(job, succeeded())))
      const rest = jobs.slice(4)
      expect(await bench.store.extend(rest.map(leaseOf), LEASE_MS)).toEqual(['held', 'held'])
      expect((await bench.store.held(jobs[0]!.token)).jobs.map(({ id }) => id)).toEqual(rest.map(({ id }) => id))
      bench.clock.advance(2 * LEASE_MS + 2)
      const { jobs: expired } = await bench.store.expired({ workers: 10 })
      expect(expired.map(({ id }) => id)).toEqual(rest.map(({ id }) => id))
      await balances()
    })

    it('settles only expired leases of the sweeper, each on its own', async () => {
      const jobs = await claimed(5)
      bench.clock.advance(LEASE_MS + 1)
      await bench.store.extend([leaseOf(jobs[3]!)], LEASE_MS)
      const given = { onlyIfExpired: true }
      const answers = await bench.store.settle(jobs.map(job => bench.settlement(job, lost(), given)))
      const statuses = ['settled', 'settled', 'settled', 'lost', 'settled']
      expect(answers.map(({ status }) => status)).toEqual(statuses)
      expect(await bench.get(jobs[3]!.id)).toMatchObject({ state: 'running' })
      await balances()
    })
  })
}
