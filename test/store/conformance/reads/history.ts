import type { RunEnd } from '../../../../src/store/store.js'
import { type Bench, BOOM, died, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function historyCases(bench: Bench, { describe, expect, it }: Suite): void {
  describe('history', () => {
    it('has one row for every run, with every field', async () => {
      const job = await bench.running()
      const startedAt = bench.now()
      bench.clock.advance(30)
      await bench.settle(job, { ...retry(500), note: 'a note' } as RunEnd)
      expect(await bench.history(job.id)).toEqual([
        {
          jobId: job.id,
          generation: 1,
          run: 1,
          attempt: 1,
          status: 'failed',
          startedAt,
          finishedAt: startedAt + 30,
          workerId: 'worker-1',
          error: BOOM,
          note: 'a note',
          delayMs: 500,
          nextRunAt: startedAt + 530,
          decision: { action: 'retry', why: 'retry 1 of 3', retry: 1, maxRetries: 3, delayMs: 500 },
        },
      ])
    })

    it('has the trace of a run, which the decision carries', async () => {
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
      const job = await bench.running()
      const failed = { action: 'retry', why: 'retry 1 of 3', retry: 1, maxRetries: 3, delayMs: 0, traceId } as const
      await bench.settle(job, retry(0, { decision: failed }))
      const done = { action: 'succeed', why: 'succeeded at retry 1', traceId } as const
      await bench.settle(await bench.claimOne(), succeeded(undefined, { decision: done }))
      expect((await bench.history(job.id)).map(({ decision }) => decision)).toEqual([done, failed])
      expect((await bench.store.audit()).findings).toEqual([])
    })

    it('has the same fields for a success, with or without optional ones', async () => {
      const plain = { action: 'succeed', why: 'succeeded at retry 1' } as const
      for (const note of [undefined, 'the result was not kept']) {
        const job = await bench.running()
        await bench.settle(job, retry(0))
        const again = await bench.claimOne({ workerId: 'worker-2' })
        bench.clock.advance(20)
        const startedAt = bench.now()
        bench.clock.advance(30)
        const end = { ...succeeded('{"sent":1}', { decision: plain }), ...(note !== undefined && { note }) } as RunEnd
        const told = { workerId: 'worker-2', startedAt, finishedAt: bench.now() }
        expect(await bench.settle(again, end, told)).toMatchObject({ status: 'settled', state: 'succeeded' })
        expect(await bench.settle(again, end, told)).toEqual({ status: 'already' })
        expect(await bench.settle(again, retry(0), told)).toEqual({ status: 'lost' })
        const [last, first, ...rest] = await bench.history(job.id)
        expect(last).toEqual({
          jobId: job.id,
          generation: 1,
          run: 2,
          attempt: 2,
          status: 'succeeded',
          ...told,
          ...(note !== undefined && { note }),
          decision: plain,
        })
        expect([first?.run, rest]).toEqual([1, []])
        expect((await bench.store.audit()).findings).toEqual([])
      }
    })

    it('has no next run if there is none', async () => {
      const [row] = await bench.history(await bench.ended(died()))
      expect(row).not.toHaveProperty('nextRunAt')
      expect(row).not.toHaveProperty('delayMs')
    })

    it('keeps the plain decision of a success', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      const decision = { action: 'succeed', why: 'succeeded at retry 1' } as const
      await bench.settle(await bench.claimOne(), succeeded(undefined, { decision }))
      expect((await bench.history(job.id))[0]).toMatchObject({ decision, status: 'succeeded' })
    })

    it('keeps a decision of a success with more fields', async () => {
      const decision = { action: 'succeed', why: 'reconciled: it had been done' } as const
      const id = await bench.ended(succeeded(undefined, { decision }))
      expect((await bench.history(id))[0]?.decision).toEqual(decision)
    })

    it('pages from the newest run or from the oldest, and a cursor keeps the order', async () => {
      const { id } = await bench.running().then(async job => {
        for (let run = 1; run <= 4; run++) await bench.settle(run === 1 ? job : await bench.claimOne(), snoozed(0))
        await bench.settle(await bench.claimOne(), succeeded())
        return job
      })
      for (const [order, expected] of [
        [undefined, [5, 4, 3, 2, 1]],
        ['newest', [5, 4, 3, 2, 1]],
        ['oldest', [1, 2, 3, 4, 5]],
      ] as const) {
        const runs: number[] = []
        let page = await bench.store.history(id, { limit: 2, ...(order && { order }) })
        for (; ; page = await bench.store.history(id, { limit: 2, cursor: page.next })) {
          runs.push(...page.data.map(({ run }) => run))
          if (page.next === undefined) break
        }
        expect(runs).toEqual(expected)
      }
    })

    it('numbers runs without gaps across generations', async () => {
      const id = await bench.ended(died())
      await bench.redrive([id])
      await bench.settle(await bench.claimOne(), snoozed(0))
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await bench.history(id)).toMatchObject([
        { run: 3, generation: 2, attempt: 1, status: 'succeeded' },
        { run: 2, generation: 2, attempt: 1, status: 'snoozed' },
        { run: 1, generation: 1, attempt: 1, status: 'failed' },
      ])
    })
  })
}
