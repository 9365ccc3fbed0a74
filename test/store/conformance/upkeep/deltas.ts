import type { Counts } from '../../../../src/store/delta.js'
import { COUNTS, countsId, ERROR_GROUP, type ErrorGroup } from '../../../../src/store/fold.js'
import { type Bench, cancelled, died, handedBack, lost, retry, snoozed, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function deltaCases(bench: Bench, { describe, expect, it }: Suite): void {
  const GROUP = { fingerprint: 'f1', title: 'boom' }

  async function foldAll(): Promise<void> {
    while ((await bench.store.fold(100)) > 0);
  }

  /** The counts of this hour for a queue and a name. */
  async function counts(place = 'default send-mail'): Promise<Counts> {
    await foldAll()
    const id = countsId('1h', bench.now(), place)
    const [record] = await bench.store.records(COUNTS, { ids: [id] })
    return record ? (JSON.parse(record.body) as Counts) : {}
  }

  async function group(id = 'f1'): Promise<ErrorGroup | undefined> {
    await foldAll()
    const [record] = await bench.store.records(ERROR_GROUP, { ids: [id] })
    return record && (JSON.parse(record.body) as ErrorGroup)
  }

  describe('counts', () => {
    it('belong to the minute in which a run ended, also if it is stored later', async () => {
      const job = await bench.running()
      const finishedAt = bench.now() + 59_990
      bench.clock.advance(60_010)
      await bench.settle(job, succeeded(), { finishedAt })
      await bench.store.fold(100)
      const of = async (at: number) => {
        const [record] = await bench.store.records(COUNTS, { ids: [countsId('1m', at, 'default send-mail')] })
        return record && JSON.parse(record.body)
      }
      expect(await of(finishedAt)).toMatchObject({ enqueued: 1, 'end:succeeded': 1 })
      expect(await of(bench.now())).toBeUndefined()
      const range = { state: 'succeeded', finishedAfter: finishedAt - 59_990, finishedBefore: finishedAt + 10 } as const
      expect(await bench.listed(range)).toEqual([job.id])
    })

    it('include enqueued jobs, by queue and name', async () => {
      await bench.addMany(3)
      await bench.add({ name: 'other' })
      await bench.add({ queue: 'mail' })
      expect(await counts()).toEqual({ enqueued: 3 })
      expect(await counts('default other')).toEqual({ enqueued: 1 })
      expect(await counts('mail send-mail')).toEqual({ enqueued: 1 })
    })

    it('include only jobs that were created', async () => {
      const keyed = { key: 'k', payloadHash: 'h' }
      const job = bench.job()
      await bench.store.enqueue([
        job,
        bench.job(keyed),
        bench.job(keyed),
        bench.job({ key: 'k', payloadHash: 'other' }),
      ])
      await bench.store.enqueue([job, bench.job({ unique: 'u' }), bench.job({ unique: 'u' })])
      await bench.store.enqueue([job])
      expect(await counts()).toEqual({ enqueued: 3 })
    })

    it('include the outcomes of runs, retries and durations', async () => {
      const id = await bench.add()
      const runs = [snoozed(0), retry(0), lost({ attemptBack: true }), succeeded()]
      for (const end of runs) {
        const job = await bench.claimOne()
        bench.clock.advance(5)
        await bench.settle(job, end)
      }
      expect(await bench.get(id)).toMatchObject({ state: 'succeeded' })
      expect(await counts()).toEqual({
        enqueued: 1,
        'run:snoozed': 1,
        'run:failed': 1,
        'run:lost': 1,
        'run:succeeded': 1,
        first: 1,
        retry: 1,
        'retry:succeeded': 1,
        ms: 20,
        'end:succeeded': 1,
      })
    })

    it.each([
      ['a success', succeeded()],
      ['another failure', retry(60_000)],
    ])('include the latency of a retry that ends with %s, also beside a lost run', async (_, end) => {
      await bench.add()
      await bench.settle(await bench.claimOne(), retry(0))
      const job = await bench.claimOne()
      const gone = { ...job, token: 'gone' }
      const given = { failedAt: bench.now() - 700, startedAt: bench.now() }
      await bench.store.settle([bench.settlement(job, end, given), bench.settlement(gone, end, given)])
      expect(await counts()).toMatchObject({ first: 1, retry: 1, 'retry:measured': 1, 'retry:latency': 700 })
      await bench.add()
      await bench.settle(await bench.claimOne(), succeeded(), given)
      expect(await counts()).toMatchObject({ 'retry:measured': 1 })
    })

    it('include deaths by reason', async () => {
      await bench.ended(died('exhausted'))
      await bench.ended(died('poison'))
      const all = await counts()
      expect(all).toMatchObject({ 'end:dead': 2, 'dead:exhausted': 1, 'dead:poison': 1, 'run:failed': 2, first: 2 })
    })

    it('include jobs that ended without a run', async () => {
      await bench.cancel([await bench.add()])
      await bench.add({ deadline: { delayMs: 0 } })
      await bench.expireDeadlines(5)
      expect(await counts()).toEqual({ enqueued: 2, 'end:cancelled': 1, 'end:dead': 1, 'dead:expired': 1 })
    })

    it('include a retry that became a cancellation', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      await bench.settle(job, retry(5))
      expect(await counts()).toMatchObject({ 'run:failed': 1, 'end:cancelled': 1 })
    })

    it('leave out a released run, but include the cancellation that it became', async () => {
      await bench.settle(await bench.running(), handedBack())
      expect(await counts()).toEqual({ enqueued: 1 })
      const job = await bench.claimOne()
      await bench.cancel([job.id])
      await bench.settle(job, handedBack())
      expect(await counts()).toEqual({ enqueued: 1, 'end:cancelled': 1 })
    })

    it('ignore calls that change nothing: repeated, lost and refused', async () => {
      const job = await bench.running()
      await bench.settle(job, succeeded())
      const before = await counts()
      await bench.settle(job, succeeded())
      await bench.settle(job, died())
      await bench.cancel([job.id])
      await bench.redrive([job.id])
      await bench.discard([job.id])
      await bench.acknowledge([job.id])
      expect(await bench.store.fold(100)).toBe(0)
      expect(await counts()).toEqual(before)
    })

    it('include spawned jobs', async () => {
      const spawn = [bench.job({ queue: 'deliveries' })]
      await bench.ended({ ...succeeded(), spawn })
      expect(await counts('deliveries send-mail')).toEqual({ enqueued: 1 })
    })

    it('belong to the minute and the hour of the event', async () => {
      const at = bench.now()
      await bench.add()
      bench.clock.advance(60_000)
      await bench.add()
      await foldAll()
      const records = await bench.store.records(COUNTS, { limit: 10 })
      expect(records.map(({ id, body }) => [id, JSON.parse(body)])).toEqual([
        [countsId('1h', at, 'default send-mail'), { enqueued: 2 }],
        [countsId('1m', at, 'default send-mail'), { enqueued: 1 }],
        [countsId('1m', at + 60_000, 'default send-mail'), { enqueued: 1 }],
      ])
    })
  })

  describe('error groups', () => {
    it('count failures, deaths and dead letters', async () => {
      const job = await bench.running()
      await bench.settle(job, { ...retry(0), group: GROUP })
      expect(await group()).toMatchObject({ failures: 1, deaths: 0, dead: 0 })
      bench.clock.advance(5)
      await bench.settle(await bench.claimOne(), { ...died(), group: GROUP })
      expect(await group()).toEqual({
        fingerprint: 'f1',
        title: 'boom',
        error: 'Error',
        code: 'ECONNRESET',
        status: 503,
        names: ['send-mail'],
        queues: ['default'],
        failures: 2,
        deaths: 1,
        dead: 1,
        firstSeen: bench.now() - 5,
        lastSeen: bench.now(),
        trend: { [bench.now() - 5]: 2 },
        samples: [job.id],
        state: 'open',
        stateAt: bench.now() - 5,
      })
    })

    it('are per tenant', async () => {
      await bench.ended({ ...died(), group: GROUP }, { tenantId: 't1' })
      expect(await group()).toBeUndefined()
      expect(await group('f1@t1')).toMatchObject({ tenantId: 't1', dead: 1 })
    })

    it.each<[string, (id: string) => Promise<unknown>]>([
      ['started again', id => bench.redrive([id])],
      ['given up', id => bench.discard([id])],
      ['removed', id => bench.store.remove([id])],
      ['pruned', () => bench.store.prune({ olderThanMs: { dead: 0 }, keyMs: 0, limit: 5 })],
    ])('count a dead letter that was %s, once', async (_word, act) => {
      const id = await bench.ended({ ...died(), group: GROUP })
      await bench.ended({ ...retry(1e6), group: GROUP })
      await act(id)
      expect(await group()).toMatchObject({ failures: 2, deaths: 1, dead: 0 })
      await act(id)
      await bench.ended({ ...died(), group: GROUP }, { queue: 'other' })
      expect(await group()).toMatchObject({ deaths: 2, dead: 1 })
    })

    it('count a discarded job neither when it is redriven nor when it is removed', async () => {
      const ids: string[] = []
      for (let count = 0; count < 3; count++) ids.push(await bench.ended({ ...died(), group: GROUP }))
      await bench.discard(ids.slice(0, 2))
      expect(await group()).toMatchObject({ dead: 1 })
      await bench.redrive([ids[0]!])
      await bench.store.remove([ids[1]!])
      expect(await group()).toMatchObject({ dead: 1 })
    })

    it('still count a job that was acknowledged', async () => {
      const id = await bench.ended({ ...died(), group: GROUP })
      await bench.acknowledge([id])
      expect(await group()).toMatchObject({ dead: 1 })
    })

    it('keep a job that dies without an error of its own, and count it once', async () => {
      const job = await bench.running()
      await bench.settle(job, { ...retry(0), group: GROUP })
      await bench.settle(await bench.claimOne(), snoozed(0, { to: 'dead', reason: 'exhausted' }))
      expect(await bench.get(job.id)).toMatchObject({ state: 'dead', fingerprint: 'f1' })
      expect(await group()).toMatchObject({ failures: 1, dead: 1 })
      await bench.redrive([job.id])
      expect(await group()).toMatchObject({ failures: 1, dead: 0 })
    })

    it('count a waiting job that expires', async () => {
      const job = await bench.running({ deadline: { delayMs: 100 } })
      await bench.settle(job, { ...retry(1e6), group: GROUP })
      bench.clock.advance(100)
      await bench.expireDeadlines(5)
      expect(await group()).toMatchObject({ failures: 1, deaths: 0, dead: 1 })
    })

    it('do not count a cancelled job that starts again', async () => {
      const job = await bench.running()
      await bench.settle(job, { ...retry(1e6), group: GROUP })
      await bench.cancel([job.id])
      await bench.redrive([job.id])
      await bench.ended(cancelled(), { queue: 'other' })
      expect(await group()).toMatchObject({ failures: 1, dead: 0 })
    })
  })
}
