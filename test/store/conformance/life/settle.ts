import type { RunEnd } from '../../../../src/store/store.js'
import {
  ANY_TEXTS,
  type Bench,
  BOOM,
  cancelled,
  died,
  handedBack,
  LEASE_MS,
  leaseOf,
  lost,
  retry,
  snoozed,
  succeeded,
  uuid,
} from '../bench.js'
import type { Suite } from '../runner.js'

export function settleCases(bench: Bench, { describe, expect, it }: Suite): void {
  const ENDS: readonly (readonly [string, RunEnd])[] = [
    ['success', succeeded('1')],
    ['retry', retry(50)],
    ['death', died()],
    ['snooze', snoozed(10)],
    ['cancel', cancelled()],
    ['loss', lost()],
  ]

  describe('settle', () => {
    it('ends a job that succeeded, with its result', async () => {
      const job = await bench.running()
      bench.clock.advance(7)
      const answer = await bench.settle(job, succeeded('{"receipt":1}'))
      expect(answer).toEqual({ status: 'settled', state: 'succeeded' })
      expect(await bench.get(job.id)).toMatchObject({
        state: 'succeeded',
        result: '{"receipt":1}',
        finishedAt: bench.now(),
        startedAt: bench.now() - 7,
        run: 1,
        attempt: 1,
      })
    })

    it('leaves out absent fields', async () => {
      const id = await bench.ended(succeeded())
      const job = await bench.get(id)
      for (const field of ['result', 'error', 'reason', 'backoffMs', 'progress']) expect(job).not.toHaveProperty(field)
    })

    it('lets a job that failed wait for its retry', async () => {
      const job = await bench.running()
      const answer = await bench.settle(job, retry(500, { backoffMs: 480 }))
      expect(answer).toEqual({ status: 'settled', state: 'waiting', runAt: bench.now() + 500 })
      expect(await bench.get(job.id)).toMatchObject({
        state: 'waiting',
        runAt: bench.now() + 500,
        attempt: 1,
        error: BOOM,
        backoffMs: 480,
      })
      expect(await bench.get(job.id)).not.toHaveProperty('finishedAt')
      bench.clock.advance(499)
      expect(await bench.claim()).toEqual([])
      bench.clock.advance(1)
      expect(await bench.claimOne()).toMatchObject({ id: job.id, attempt: 2, run: 2 })
    })

    it('counts a delay from its own now, not from when the run ended', async () => {
      const job = await bench.running()
      const answer = await bench.settle(job, retry(100), { finishedAt: bench.now() - 5000 })
      expect(answer).toMatchObject({ runAt: bench.now() + 100 })
    })

    it('rounds a delay up, never down', async () => {
      const job = await bench.running()
      expect(await bench.settle(job, retry(0.1))).toMatchObject({ runAt: bench.now() + 1 })
    })

    it('returns an attempt, but never a run', async () => {
      const job = await bench.running()
      await bench.settle(job, snoozed(0))
      expect(await bench.get(job.id)).toMatchObject({ state: 'waiting', attempt: 0, run: 1, snoozes: 1 })
    })

    it('stores the counters of the transition', async () => {
      const job = await bench.running()
      await bench.settle(job, lost({ losses: 3, strikes: 2, releases: 1, snoozes: 9, suspect: true, backoffMs: 5 }))
      const counters = { losses: 3, strikes: 2, releases: 1, snoozes: 9, suspect: true, backoffMs: 5 }
      expect(await bench.get(job.id)).toMatchObject(counters)
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await bench.get(job.id)).toMatchObject({ losses: 0, strikes: 0, releases: 0, snoozes: 0, suspect: false })
      expect(await bench.get(job.id)).not.toHaveProperty('backoffMs')
    })

    it('stores when the run failed, until another one ends', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0, { failedAt: 777 }))
      const again = await bench.claimOne()
      expect(again).toMatchObject({ failedAt: 777 })
      await bench.settle(again, retry(0, { failedAt: 888 }))
      expect(await bench.get(job.id)).toMatchObject({ failedAt: 888 })
      await bench.settle(await bench.claimOne(), snoozed(0))
      expect(await bench.get(job.id)).not.toHaveProperty('failedAt')
      expect(await bench.claimOne()).not.toHaveProperty('failedAt')
    })

    it('ends a job that died, with reason and error', async () => {
      const id = await bench.ended(died('permanent'))
      expect(await bench.get(id)).toMatchObject({
        state: 'dead',
        reason: 'permanent',
        error: BOOM,
        finishedAt: bench.now(),
        attempt: 1,
      })
    })

    it('keeps the last error while the job goes on, and drops it when it succeeds', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      await bench.settle(await bench.claimOne(), snoozed(0))
      expect((await bench.get(job.id)).error).toEqual(BOOM)
      await bench.settle(await bench.claimOne(), retry(0, {}, { name: 'TypeError', message: 'other' }))
      expect((await bench.get(job.id)).error).toEqual({ name: 'TypeError', message: 'other' })
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await bench.get(job.id)).not.toHaveProperty('error')
    })

    it('ends a job that was cancelled', async () => {
      const id = await bench.ended(cancelled())
      expect(await bench.get(id)).toMatchObject({ state: 'cancelled', finishedAt: bench.now() })
      expect(await bench.get(id)).not.toHaveProperty('reason')
    })

    it('turns a retry into the end of a job that was asked to stop', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      const answer = await bench.settle(job, retry(500))
      expect(answer).toEqual({ status: 'settled', state: 'cancelled' })
      expect(await bench.get(job.id)).toMatchObject({
        state: 'cancelled',
        finishedAt: bench.now(),
        cancelRequested: true,
      })
      const [row] = await bench.history(job.id)
      expect(row).toMatchObject({ status: 'failed', error: BOOM })
      expect(row).not.toHaveProperty('nextRunAt')
      expect(row).not.toHaveProperty('delayMs')
    })

    it('keeps a success, and a death, of a job that was asked to stop', async () => {
      const [good, bad] = [await bench.running(), await bench.running()]
      await bench.cancel([good.id, bad.id])
      expect(await bench.settle(good, succeeded('1'))).toMatchObject({ state: 'succeeded' })
      expect(await bench.settle(bad, died())).toMatchObject({ state: 'dead' })
      expect(await bench.get(good.id)).toMatchObject({ result: '1', cancelRequested: true })
    })

    it('accepts a settlement after the lease expired, while no other process has taken the job', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS * 5)
      expect(await bench.settle(job, succeeded())).toMatchObject({ status: 'settled' })
    })

    it('answers in the order of the batch, and a lost lease does not affect the others', async () => {
      const [one, two, three] = [await bench.running(), await bench.running(), await bench.running()]
      const gone = { ...two, token: bench.token() }
      const answers = await bench.store.settle([
        bench.settlement(one, succeeded()),
        bench.settlement(gone, succeeded()),
        bench.settlement(three, retry(5)),
      ])
      expect(answers.map(({ status }) => status)).toEqual(['settled', 'lost', 'settled'])
      expect(await bench.get(two.id)).toMatchObject({ state: 'running' })
    })

    it('takes a batch of a thousand', async () => {
      await bench.addMany(1000)
      const jobs = await bench.claim({ limit: 1000 })
      const answers = await bench.store.settle(jobs.map(job => bench.settlement(job, succeeded())))
      expect(answers.every(({ status }) => status === 'settled')).toBe(true)
      expect(await bench.store.count({ state: 'succeeded' }, 2000)).toMatchObject({ value: 1000 })
    })

    it('takes an empty batch', async () => {
      expect(await bench.store.settle([])).toEqual([])
    })

    it.each(ANY_TEXTS)('gives every text back exactly: %s', async (_name, text) => {
      const job = await bench.running({}, { workerId: text })
      const error = { name: text, message: text, code: text, stack: text }
      const end = { ...retry(0, {}, error), note: text } as RunEnd
      await bench.settle(job, end)
      expect(await bench.history(job.id)).toMatchObject([{ error, note: text, workerId: text }])
      await bench.settle(await bench.claimOne(), succeeded(text))
      expect((await bench.get(job.id)).result).toBe(text)
    })
  })

  describe('settle, repeated', () => {
    it.each(ENDS)('says already to the same %s', async (_name, end) => {
      const job = await bench.running()
      await bench.settle(job, end)
      const before = await bench.get(job.id)
      bench.clock.advance(5)
      expect(await bench.settle(job, end)).toEqual({ status: 'already' })
      expect(await bench.get(job.id)).toEqual(before)
      expect(await bench.history(job.id)).toHaveLength(1)
    })

    it('returns already within one batch', async () => {
      const job = await bench.running()
      const one = bench.settlement(job, succeeded())
      expect(await bench.store.settle([one, one])).toMatchObject([{ status: 'settled' }, { status: 'already' }])
    })

    it('returns already even during the next run', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      await bench.claimOne({ workerId: 'other' })
      expect(await bench.settle(job, retry(0))).toEqual({ status: 'already' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'running', run: 2 })
    })

    it('returns already to the second of two sweepers', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      expect(await bench.settle(job, lost(), { onlyIfExpired: true })).toMatchObject({ status: 'settled' })
      expect(await bench.settle(job, lost(), { onlyIfExpired: true })).toEqual({ status: 'already' })
    })
  })

  describe('settle, fenced', () => {
    it.each(ENDS)('refuses a %s by another token', async (_name, end) => {
      const job = await bench.running()
      expect(await bench.settle({ ...job, token: bench.token() }, end)).toEqual({ status: 'lost' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'running', run: 1, attempt: 1 })
      expect(await bench.history(job.id)).toEqual([])
    })

    it.each(ENDS.filter(([name]) => name !== 'loss'))(
      'refuses a %s of a worker whose job was swept',
      async (_n, end) => {
        const job = await bench.running()
        bench.clock.advance(LEASE_MS + 1)
        await bench.settle(job, lost(), { onlyIfExpired: true })
        expect(await bench.settle(job, end)).toEqual({ status: 'lost' })
        const next = await bench.claimOne({ workerId: 'other' })
        expect(await bench.settle(job, end)).toEqual({ status: 'lost' })
        expect(await bench.get(job.id)).toMatchObject({ state: 'running', run: 2 })
        expect(await bench.settle(next, succeeded())).toMatchObject({ status: 'settled' })
        expect(await bench.history(job.id)).toMatchObject([{ status: 'succeeded' }, { status: 'lost' }])
      },
    )

    it('refuses a job that does not exist', async () => {
      const job = await bench.running()
      expect(await bench.settle({ ...job, id: uuid(999_999) }, succeeded())).toEqual({ status: 'lost' })
    })

    it('refuses a job that was pruned meanwhile', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      await bench.settle(job, died('poison'))
      await bench.store.remove([job.id])
      await bench.running()
      expect(await bench.settle(job, succeeded())).toEqual({ status: 'lost' })
    })

    it('refuses to sweep a lease that was extended in between', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      await bench.store.extend([leaseOf(job)], LEASE_MS)
      expect(await bench.settle(job, lost(), { onlyIfExpired: true })).toEqual({ status: 'lost' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'running' })
    })

    it('refuses to sweep an earlier run of a token whose repeated claim started the next run', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      const late = bench.settlement(job, lost(), { onlyIfExpired: true })
      await bench.store.settle([late])
      bench.clock.advance(60_000)
      await bench.claimOne({ token: job.token })
      expect(await bench.store.settle([late])).toEqual([{ status: 'already' }])
      bench.clock.advance(LEASE_MS + 1)
      const handedBack = bench.settlement(job, { kind: 'handed-back', delayMs: 0 }, { onlyIfExpired: true })
      expect(await bench.store.settle([late, handedBack])).toEqual([{ status: 'already' }, { status: 'lost' }])
      expect(await bench.get(job.id)).toMatchObject({ state: 'running', run: 2 })
      expect(await bench.history(job.id)).toMatchObject([{ run: 1, status: 'lost' }])
    })

    it.each([
      ['counts as not begun', lost],
      ['gives back', () => ({ kind: 'handed-back', delayMs: 0 }) as const],
    ])('refuses a sweep that %s a run which has begun in between', async (_, end) => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      // The clock of the worker is behind, so for the worker the lease is valid.
      expect(await bench.store.begin([leaseOf(job)])).toEqual(['held'])
      expect(await bench.settle(job, end(), { onlyIfExpired: true, ifBegun: false })).toEqual({ status: 'lost' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'running', begun: true, run: 1 })
      expect(await bench.settle(job, lost(), { onlyIfExpired: true, ifBegun: true })).toMatchObject({
        status: 'settled',
      })
    })

    it('sweeps a lease when it is over, not in its last moment', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS)
      expect(await bench.settle(job, lost(), { onlyIfExpired: true })).toEqual({ status: 'lost' })
      bench.clock.advance(1)
      expect(await bench.settle(job, lost(), { onlyIfExpired: true })).toMatchObject({ status: 'settled' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'waiting', attempt: 0, run: 1, suspect: true })
    })
  })

  describe('settle, released', () => {
    it('restores a job to its state before the claim', async () => {
      const id = await bench.add()
      const before = await bench.get(id)
      bench.clock.advance(50)
      const job = await bench.claimOne()
      expect(await bench.settle(job, handedBack())).toEqual({
        status: 'settled',
        state: 'waiting',
        runAt: before.runAt,
      })
      expect(await bench.get(id)).toEqual(before)
      expect(await bench.history(id)).toEqual([])
    })

    it('keeps the results of the previous run', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(10))
      const before = await bench.get(job.id)
      bench.clock.advance(10)
      await bench.settle(await bench.claimOne(), handedBack())
      expect(await bench.get(job.id)).toEqual(before)
    })

    it('forgets the first start of a generation that never ran', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id])
      bench.clock.advance(10)
      await bench.settle(await bench.claimOne(), handedBack())
      expect(await bench.get(id)).not.toHaveProperty('firstStartedAt')
    })

    it('keeps its place in the queue', async () => {
      const [first, second] = await bench.addMany(2)
      await bench.settle(await bench.claimOne(), handedBack())
      bench.clock.advance(5)
      expect((await bench.claim()).map(({ id }) => id)).toEqual([first, second])
    })

    it('waits for the given delay', async () => {
      const job = await bench.running()
      expect(await bench.settle(job, handedBack(5000))).toMatchObject({ state: 'waiting', runAt: bench.now() + 5000 })
      expect(await bench.claim()).toEqual([])
    })

    it('leaves no gap in the numbers of the runs', async () => {
      const job = await bench.running()
      await bench.settle(job, handedBack())
      await bench.settle(await bench.claimOne(), retry(0))
      await bench.settle(await bench.claimOne(), succeeded())
      expect((await bench.history(job.id)).map(({ run }) => run)).toEqual([2, 1])
    })

    it('ends a job that was asked to stop', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      expect(await bench.settle(job, handedBack())).toMatchObject({ status: 'settled', state: 'cancelled' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'cancelled', finishedAt: bench.now(), run: 0, attempt: 0 })
    })

    it('is lost if repeated or called with another token', async () => {
      const job = await bench.running()
      expect(await bench.settle({ ...job, token: bench.token() }, handedBack())).toEqual({ status: 'lost' })
      await bench.settle(job, handedBack())
      expect(await bench.settle(job, handedBack())).toEqual({ status: 'lost' })
      await bench.claimOne({ workerId: 'other' })
      expect(await bench.settle(job, handedBack())).toEqual({ status: 'lost' })
      expect(await bench.get(job.id)).toMatchObject({ state: 'running', run: 1 })
    })

    it('keeps no log lines of the released run', async () => {
      const job = await bench.running()
      await bench.store.report([{ lease: leaseOf(job), logs: [{ at: 1, message: 'x' }] }])
      await bench.settle(job, handedBack())
      expect(await bench.logs(job.id)).toEqual([])
    })
  })
}
