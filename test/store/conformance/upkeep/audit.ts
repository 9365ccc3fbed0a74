import { IdSum } from '../../../../src/store/id-xor.js'
import { AUDIT_FINDINGS_MAX, type AuditSnapshot, type QueueAudit } from '../../../../src/store/integrity.js'
import type { RunEnd } from '../../../../src/store/store.js'
import { type Bench, cancelled, died, handedBack, LEASE_MS, lost, retry, snoozed, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'
import { limitAuditCases } from './limits.js'

export function auditCases(bench: Bench, { describe, expect, it }: Suite): void {
  const NOTHING = uuid(0).replace(/[^-]/g, '0')

  /** The difference between the ledger and the rows of a queue. */
  function differenceOf({ ledger, rows, idSum }: QueueAudit): { jobs: number; ids: string } {
    const live = Object.values(rows).reduce((sum, count) => sum + count, 0)
    const ids = IdSum.of(ledger.idSum)
    ids.add(idSum)
    return { jobs: ledger.enqueued - ledger.removed - live, ids: ids.toString() }
  }

  function expectBalance({ queues, findings }: AuditSnapshot): void {
    for (const one of queues) {
      const { queue } = one
      expect({ queue, ...differenceOf(one) }).toEqual({ queue, jobs: 0, ids: NOTHING })
    }
    expect(findings).toEqual([])
  }

  /** Jobs with every kind of history that the operations of a store can produce. */
  async function everything(): Promise<void> {
    await bench.addMany(5)
    await bench.cancel([await bench.add()])
    await bench.add({ deadline: { delayMs: 0 }, queue: 'late' })
    await bench.expireDeadlines(10)
    const ends = [succeeded(), retry(1e6), died(), snoozed(1e6), cancelled(), lost({ delayMs: 1e6 }), handedBack()]
    for (const end of ends) await bench.settle(await bench.running({ queue: 'mixed', priority: 9 }), end)
    const dead = { queue: 'dead' }
    await bench.redrive([await bench.ended(died(), dead)], { redriveId: 'r1', delaysMs: [1e6] })
    await bench.discard([await bench.ended(died(), dead)])
    await bench.store.remove([await bench.ended(died(), dead)])
    await bench.ended({ ...succeeded(), spawn: [bench.job({ queue: 'spawned' })] }, { queue: 'parent' })
    bench.clock.advance(10)
    await bench.store.prune({ olderThanMs: { succeeded: 5, cancelled: 5 }, keyMs: 0, limit: 2 })
  }

  describe('audit', () => {
    it('is empty in an empty store', async () => {
      expect(await bench.store.audit()).toEqual({ now: bench.now(), queues: [], findings: [] })
    })

    it('counts the rows of every queue by state, and returns the ledger', async () => {
      const ids = await bench.addMany(2)
      const dead = await bench.ended(died(), { queue: 'other' })
      const rows = { waiting: 0, running: 0, succeeded: 0, dead: 0, cancelled: 0 }
      const sum = IdSum.of(ids[0]!)
      sum.add(ids[1]!)
      expect((await bench.store.audit()).queues).toEqual([
        {
          queue: 'default',
          ledger: { enqueued: 2, removed: 0, idSum: sum.toString() },
          rows: { ...rows, waiting: 2 },
          idSum: sum.toString(),
        },
        {
          queue: 'other',
          ledger: { enqueued: 1, removed: 0, idSum: dead },
          rows: { ...rows, dead: 1 },
          idSum: dead,
        },
      ])
    })

    it('includes a queue without rows', async () => {
      const id = await bench.add()
      await bench.store.remove([id])
      expect((await bench.store.audit()).queues).toEqual([
        {
          queue: 'default',
          ledger: { enqueued: 1, removed: 1, idSum: NOTHING },
          rows: { waiting: 0, running: 0, succeeded: 0, dead: 0, cancelled: 0 },
          idSum: NOTHING,
        },
      ])
    })

    it('balances after every operation of a store, folded or not', async () => {
      await everything()
      const before = await bench.store.audit()
      expectBalance(before)
      await bench.store.fold(3)
      expect(await bench.store.audit()).toEqual(before)
      while ((await bench.store.fold(100)) > 0);
      expect(await bench.store.audit()).toEqual(before)
    })

    it('balances during concurrent writes', async () => {
      await bench.addMany(200)
      const work = async () => {
        for (const job of await bench.claim({ limit: 20 })) await bench.settle(job, succeeded())
        await bench.addMany(5)
        await bench.store.prune({ olderThanMs: { succeeded: 0 }, keyMs: 0, limit: 7 })
        await bench.store.fold(5)
      }
      const audits = Promise.all(Array.from({ length: 5 }, () => bench.store.audit()))
      await Promise.all([work(), work(), audits])
      for (const snapshot of await audits) expectBalance(snapshot)
    })

    it('balances over many jobs', async () => {
      await bench.addMany(9_000)
      const snapshot = await bench.store.audit()
      expect(snapshot.queues).toMatchObject([{ rows: { waiting: 9_000 }, ledger: { enqueued: 9_000 } }])
      expectBalance(snapshot)
    })

    it('finds a lease that ran out more than two of its lengths ago', async () => {
      const { id } = await bench.running()
      bench.clock.advance(3 * LEASE_MS)
      expect((await bench.store.audit()).findings).toEqual([])
      bench.clock.advance(1)
      expect((await bench.store.audit()).findings).toMatchObject([{ jobId: id, what: 'lease-expired' }])
    })

    it('limits the findings of each kind', async () => {
      await bench.addMany(AUDIT_FINDINGS_MAX + 20)
      await bench.claim({ limit: 1000 })
      bench.clock.advance(3 * LEASE_MS + 1)
      expect((await bench.store.audit()).findings).toHaveLength(AUDIT_FINDINGS_MAX)
    })
  })

  limitAuditCases(bench, { describe, expect, it })
  const { sql } = bench
  if (!sql) return
  describe('audit after a direct change of the database', () => {
    const findings = async () => {
      const all = (await bench.store.audit()).findings
      return all.map(({ jobId, what }) => [jobId, what])
    }

    it('names a row that was deleted', async () => {
      const [, id] = await bench.addMany(5)
      await sql('DELETE FROM @jobs WHERE id = ?', id!)
      const [queue] = (await bench.store.audit()).queues
      expect(differenceOf(queue!)).toEqual({ jobs: 1, ids: id })
    })

    it('names a row that was added', async () => {
      const [id] = await bench.addMany(5)
      const columns = 'name, queue, priority, state, run_at, created_at, payload'
      const copy = uuid(0xdddd)
      await sql(`INSERT INTO @jobs (id, ${columns}) SELECT ?, ${columns} FROM @jobs WHERE id = ?`, copy, id!)
      await bench.store.fold(10)
      const [queue] = (await bench.store.audit()).queues
      expect(differenceOf(queue!)).toEqual({ jobs: -1, ids: copy })
    })

    it('finds a job that was moved to another queue', async () => {
      const id = await bench.add()
      await sql(`UPDATE @jobs SET queue = 'elsewhere' WHERE id = ?`, id)
      const { queues } = await bench.store.audit()
      expect(queues.map(queue => [queue.queue, differenceOf(queue)])).toEqual([
        ['default', { jobs: 1, ids: id }],
        ['elsewhere', { jobs: -1, ids: id }],
      ])
    })

    it('finds a success without a run', async () => {
      const plain = await bench.ended(succeeded())
      const noted = await bench.ended({ ...succeeded(), note: 'its result was not kept' } as RunEnd)
      await sql('UPDATE @jobs SET ran_token = NULL WHERE id = ?', plain)
      await sql('DELETE FROM @attempts WHERE job = (SELECT pk FROM @jobs WHERE id = ?)', noted)
      expect(await findings()).toEqual([
        [plain, 'run-gap'],
        [plain, 'success-runs'],
        [noted, 'run-gap'],
        [noted, 'success-runs'],
      ])
    })

    it('finds a success that happened twice', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      await bench.settle(await bench.claimOne(), succeeded())
      await sql(`UPDATE @attempts SET status = 'succeeded' WHERE job = (SELECT pk FROM @jobs WHERE id = ?)`, job.id)
      expect(await findings()).toEqual([[job.id, 'success-runs']])
    })

    it('finds a gap in the runs, also of a job that runs', async () => {
      const job = await bench.running()
      await bench.settle(job, retry(0))
      await bench.settle(await bench.claimOne(), retry(0))
      await bench.claimOne()
      expect(await findings()).toEqual([])
      await sql('DELETE FROM @attempts WHERE run = 1 AND job = (SELECT pk FROM @jobs WHERE id = ?)', job.id)
      expect(await findings()).toEqual([[job.id, 'run-gap']])
    })

    it('finds attempts whose job is gone', async () => {
      const id = await bench.ended(died())
      await bench.ended(died())
      await sql('DELETE FROM @jobs WHERE id = ?', id)
      expect((await bench.store.audit()).findings).toMatchObject([
        { what: 'orphan-attempts', detail: 'one attempt of a job that does not exist' },
      ])
    })
  })
}
