import type { Claimed, Lease, LogLine } from '../../../../src/store/store.js'
import { LOG_LINES_DROPPED, LOG_LINES_MAX } from '../../../../src/store/store.js'
import { ANY_TEXTS, type Bench, handedBack, LEASE_MS, leaseOf, lost, retry, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function leaseCases(bench: Bench, { describe, expect, it }: Suite): void {
  const forged = (job: Claimed): Lease => ({ id: job.id, token: bench.token() })
  const lines = (...messages: string[]): LogLine[] => messages.map(message => ({ at: bench.now(), message }))

  describe('a running job', () => {
    it('shows its worker and the end of its lease, wherever it is read', async () => {
      const job = await bench.running()
      const lease = { workerId: job.workerId, leaseUntil: job.leaseUntil }
      expect(await bench.get(job.id)).toMatchObject(lease)
      expect((await bench.store.list({ ids: [job.id] }, { limit: 1 })).data).toMatchObject([lease])
      await bench.cancel([job.id])
      expect(await bench.get(job.id)).toMatchObject({ ...lease, cancelRequested: true })
    })

    it('shows neither before it is claimed nor after it has ended', async () => {
      for (const end of [succeeded(), retry(1_000), handedBack()]) {
        const job = await bench.running()
        await bench.settle(job, end)
        const ended = await bench.get(job.id)
        expect('workerId' in ended || 'leaseUntil' in ended).toBe(false)
      }
    })
  })

  describe('begin', () => {
    it('marks a running job as begun', async () => {
      const job = await bench.running()
      expect(await bench.store.begin([leaseOf(job)])).toEqual(['held'])
      expect(await bench.get(job.id)).toMatchObject({ begun: true, delivery: 'at-least-once' })
    })

    it('answers the same when it is repeated', async () => {
      const job = await bench.running()
      await bench.store.begin([leaseOf(job)])
      expect(await bench.store.begin([leaseOf(job)])).toEqual(['held'])
    })

    it('adopts the stricter delivery of the worker, and keeps it', async () => {
      const job = await bench.running()
      await bench.store.begin([{ ...leaseOf(job), delivery: 'at-most-once' }])
      expect(await bench.get(job.id)).toMatchObject({ begun: true, delivery: 'at-most-once' })
    })

    it('does not adopt a laxer delivery', async () => {
      const job = await bench.running({ delivery: 'at-most-once' })
      await bench.store.begin([{ ...leaseOf(job), delivery: 'at-least-once' }])
      expect(await bench.get(job.id)).toMatchObject({ delivery: 'at-most-once' })
    })

    it('does not begin a job that was asked to stop', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      expect(await bench.store.begin([leaseOf(job)])).toEqual(['cancel-requested'])
      expect(await bench.get(job.id)).toMatchObject({ begun: false })
    })

    it('keeps a job begun that is asked to stop afterwards', async () => {
      const job = await bench.running()
      await bench.store.begin([leaseOf(job)])
      await bench.cancel([job.id])
      expect(await bench.store.begin([leaseOf(job)])).toEqual(['cancel-requested'])
      expect(await bench.get(job.id)).toMatchObject({ begun: true })
    })

    it('is lost to another token, and changes nothing', async () => {
      const job = await bench.running()
      expect(await bench.store.begin([{ ...forged(job), delivery: 'at-most-once' }])).toEqual(['lost'])
      expect(await bench.get(job.id)).toMatchObject({ begun: false, delivery: 'at-least-once' })
    })

    it('is lost after the job was settled, released or claimed by another worker', async () => {
      const settled = await bench.running()
      await bench.settle(settled, succeeded())
      const back = await bench.running()
      await bench.settle(back, handedBack())
      expect(await bench.store.begin([leaseOf(settled), leaseOf(back)])).toEqual(['lost', 'lost'])
      await bench.claimOne()
      expect(await bench.store.begin([leaseOf(back)])).toEqual(['lost'])
    })

    it('is undone by the next claim, and when the job is handed back', async () => {
      const lostRun = await bench.running()
      await bench.store.begin([leaseOf(lostRun)])
      bench.clock.advance(LEASE_MS + 1)
      await bench.settle(lostRun, lost(), { onlyIfExpired: true })
      expect(await bench.claimOne()).toMatchObject({ id: lostRun.id, begun: false })
      const back = await bench.running()
      await bench.store.begin([leaseOf(back)])
      await bench.settle(back, handedBack())
      expect(await bench.get(back.id)).toMatchObject({ begun: false, attempt: 0, run: 0 })
    })

    it('takes a batch of several claims, some of which are lost or asked to stop', async () => {
      await bench.addMany(4)
      const first = await bench.claim({ limit: 2 })
      const second = await bench.claim({ limit: 2 })
      const all = [...first, ...second]
      const [a, b, c, d] = all as [Claimed, Claimed, Claimed, Claimed]
      await bench.cancel([b.id])
      await bench.settle(c, succeeded())
      const leases = [leaseOf(a), leaseOf(d), leaseOf(b), leaseOf(c), leaseOf(a), forged(d)]
      expect(await bench.store.begin(leases)).toEqual(['held', 'held', 'cancel-requested', 'lost', 'held', 'lost'])
      const begun = await Promise.all(all.map(async ({ id }) => (await bench.get(id)).begun))
      expect(begun).toEqual([true, false, false, true])
    })

    it('takes an empty batch', async () => {
      expect(await bench.store.begin([])).toEqual([])
    })

    it('answers in the order of the batch', async () => {
      const [one, two] = [await bench.running(), await bench.running()]
      await bench.cancel([two.id])
      const unknown = { id: uuid(999_999), token: one.token }
      expect(await bench.store.begin([unknown, leaseOf(two), leaseOf(one)])).toEqual([
        'lost',
        'cancel-requested',
        'held',
      ])
    })
  })

  describe('extend', () => {
    it('moves the end of a lease, from now on', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS - 1)
      expect(await bench.store.extend([leaseOf(job)], LEASE_MS)).toEqual(['held'])
      bench.clock.advance(LEASE_MS)
      expect((await bench.store.expired({ workers: 9 })).jobs).toEqual([])
      bench.clock.advance(1)
      expect((await bench.store.expired({ workers: 9 })).jobs).toMatchObject([
        { id: job.id, leaseUntil: bench.now() - 1 },
      ])
    })

    it('renews an expired lease that no other process has taken', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS * 3)
      expect(await bench.store.extend([leaseOf(job)], LEASE_MS)).toEqual(['held'])
      expect((await bench.store.expired({ workers: 9 })).jobs).toEqual([])
    })

    it('may be repeated', async () => {
      const job = await bench.running()
      expect(await bench.store.extend([leaseOf(job), leaseOf(job)], LEASE_MS)).toEqual(['held', 'held'])
    })

    it('reports a request to cancel, and still renews the lease', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      bench.clock.advance(LEASE_MS)
      expect(await bench.store.extend([leaseOf(job)], LEASE_MS)).toEqual(['cancel-requested'])
      bench.clock.advance(LEASE_MS)
      expect((await bench.store.expired({ workers: 9 })).jobs).toEqual([])
    })

    it('is lost to another token, and changes nothing', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS)
      expect(await bench.store.extend([forged(job)], LEASE_MS)).toEqual(['lost'])
      bench.clock.advance(1)
      expect((await bench.store.expired({ workers: 9 })).jobs).toHaveLength(1)
    })

    it('is lost to a worker whose job was swept and taken by another', async () => {
      const job = await bench.running()
      bench.clock.advance(LEASE_MS + 1)
      await bench.settle(job, lost(), { onlyIfExpired: true })
      expect(await bench.store.extend([leaseOf(job)], LEASE_MS)).toEqual(['lost'])
      await bench.claimOne({ workerId: 'other' })
      expect(await bench.store.extend([leaseOf(job)], LEASE_MS)).toEqual(['lost'])
    })

    it('takes an empty batch', async () => {
      expect(await bench.store.extend([], LEASE_MS)).toEqual([])
    })
  })

  describe('report', () => {
    it('keeps log lines in the order in which they were written', async () => {
      const job = await bench.running()
      const first = [{ at: 5, message: 'one', data: '{"a":1}' }]
      expect(await bench.store.report([{ lease: leaseOf(job), logs: first }])).toEqual(['held'])
      await bench.store.report([{ lease: leaseOf(job), logs: lines('two', 'three') }])
      expect(await bench.logs(job.id)).toEqual([
        { run: 1, at: 5, message: 'one', data: '{"a":1}' },
        { run: 1, at: bench.now(), message: 'two' },
        { run: 1, at: bench.now(), message: 'three' },
      ])
    })

    it('keeps the last progress', async () => {
      const job = await bench.running()
      await bench.store.report([{ lease: leaseOf(job), logs: [], progress: '0.1' }])
      await bench.store.report([{ lease: leaseOf(job), logs: lines('x') }])
      expect((await bench.get(job.id)).progress).toBe('0.1')
      await bench.store.report([{ lease: leaseOf(job), logs: [], progress: '{"at":2}' }])
      expect((await bench.get(job.id)).progress).toBe('{"at":2}')
    })

    it('does not write lines twice when a numbered report is repeated', async () => {
      const job = await bench.running()
      const report = { lease: leaseOf(job), logs: lines('one', 'two'), from: 0 }
      await bench.store.report([report])
      await bench.store.report([report])
      await bench.store.report([{ lease: leaseOf(job), logs: lines('two', 'three'), from: 1 }])
      expect((await bench.logs(job.id)).map(({ message }) => message)).toEqual(['one', 'two', 'three'])
    })

    it('keeps the lines of every run apart', async () => {
      const first = await bench.running()
      await bench.store.report([{ lease: leaseOf(first), logs: lines('a'), from: 0 }])
      await bench.settle(first, retry(0))
      const second = await bench.claimOne()
      await bench.store.report([{ lease: leaseOf(second), logs: lines('b'), from: 0 }])
      expect(await bench.logs(first.id)).toMatchObject([
        { run: 1, message: 'a' },
        { run: 2, message: 'b' },
      ])
    })

    it('keeps the first thousand lines of a run, and notes once that others were dropped', async () => {
      const job = await bench.running()
      const many = Array.from({ length: LOG_LINES_MAX - 1 }, (_, index) => ({ at: 1, message: `line ${index}` }))
      await bench.store.report([{ lease: leaseOf(job), logs: many }])
      await bench.store.report([{ lease: leaseOf(job), logs: lines('last', 'dropped', 'dropped') }])
      await bench.store.report([{ lease: leaseOf(job), logs: lines('dropped') }])
      const messages = (await bench.logs(job.id)).map(({ message }) => message)
      expect(messages).toHaveLength(LOG_LINES_MAX + 1)
      expect(messages.slice(-2)).toEqual(['last', LOG_LINES_DROPPED])
    })

    it('keeps exactly a thousand lines without a note', async () => {
      const job = await bench.running()
      const many = Array.from({ length: LOG_LINES_MAX }, (_, index) => ({ at: 1, message: `line ${index}` }))
      await bench.store.report([{ lease: leaseOf(job), logs: many, from: 0 }])
      expect((await bench.logs(job.id)).at(-1)).toMatchObject({ message: `line ${LOG_LINES_MAX - 1}` })
    })

    it('reports a request to cancel', async () => {
      const job = await bench.running()
      await bench.cancel([job.id])
      expect(await bench.store.report([{ lease: leaseOf(job), logs: lines('x') }])).toEqual(['cancel-requested'])
    })

    it('is lost to another token, and writes nothing', async () => {
      const job = await bench.running()
      expect(await bench.store.report([{ lease: forged(job), logs: lines('x'), progress: '1' }])).toEqual(['lost'])
      expect(await bench.logs(job.id)).toEqual([])
      expect(await bench.get(job.id)).not.toHaveProperty('progress')
    })

    it('is lost after the job was settled, also while another runs it', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      const report = { lease: leaseOf(job), logs: lines('zombie'), progress: '1' }
      expect(await bench.store.report([report])).toEqual(['lost'])
      await bench.claimOne()
      expect(await bench.store.report([report])).toEqual(['lost'])
      expect(await bench.logs(job.id)).toEqual([])
    })

    it.each(ANY_TEXTS)('gives every text back exactly: %s', async (_name, text) => {
      const job = await bench.running()
      await bench.store.report([{ lease: leaseOf(job), logs: [{ at: 1, message: text, data: text }], progress: text }])
      expect(await bench.logs(job.id)).toEqual([{ run: 1, at: 1, message: text, data: text }])
      expect((await bench.get(job.id)).progress).toBe(text)
    })
  })
}
