import type { LedgerDelta } from '../../../../src/store/delta.js'
import { COUNTS, countsId, LEDGER } from '../../../../src/store/fold.js'
import { IdSum } from '../../../../src/store/id-xor.js'
import { type Bench, STRANGE_TEXTS, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function foldCases(bench: Bench, { describe, expect, it }: Suite): void {
  async function ledger(queue = 'default'): Promise<LedgerDelta | undefined> {
    const [record] = await bench.store.records(LEDGER, { ids: [queue] })
    return record && (JSON.parse(record.body) as LedgerDelta)
  }

  function sumOf(...ids: readonly string[]): string {
    const sum = new IdSum()
    for (const id of ids) sum.add(id)
    return sum.toString()
  }

  describe('fold', () => {
    it('has nothing to do in an empty store', async () => {
      expect(await bench.store.fold(10)).toBe(0)
      expect(await bench.store.records(LEDGER, { limit: 10 })).toEqual([])
    })

    it('folds the deltas of one call together', async () => {
      const ids = await bench.addMany(20)
      expect(await bench.store.fold(10)).toBe(1)
      expect(await ledger()).toEqual({ enqueued: 20, removed: 0, idSum: sumOf(...ids) })
    })

    it('takes no more than the limit, oldest first', async () => {
      const ids = [await bench.add(), await bench.add(), await bench.add()]
      expect(await bench.store.fold(2)).toBe(2)
      expect(await ledger()).toEqual({ enqueued: 2, removed: 0, idSum: sumOf(ids[0]!, ids[1]!) })
      expect(await bench.store.fold(2)).toBe(1)
      expect(await ledger()).toMatchObject({ enqueued: 3 })
      expect(await bench.store.fold(2)).toBe(0)
    })

    it('writes the records as `putRecords` does', async () => {
      await bench.add()
      await bench.store.fold(10)
      bench.clock.advance(10)
      await bench.add()
      await bench.store.fold(10)
      expect(await bench.store.records(LEDGER, { limit: 10 })).toMatchObject([
        { kind: LEDGER, id: 'default', version: 2, updatedAt: bench.now() },
      ])
    })

    it('includes jobs that were created and removed', async () => {
      const [kept, removed] = [await bench.add(), await bench.add()]
      const pruned = await bench.ended(succeeded(), { queue: 'other' })
      await bench.store.remove([removed])
      bench.clock.advance(10)
      await bench.store.prune({ olderThanMs: { succeeded: 0 }, keyMs: 0, limit: 10 })
      await bench.store.fold(100)
      expect(await ledger()).toEqual({ enqueued: 2, removed: 1, idSum: sumOf(kept) })
      expect(await ledger('other')).toEqual({ enqueued: 1, removed: 1, idSum: sumOf(pruned, pruned) })
    })

    it('adds every delta once when several processes fold concurrently', async () => {
      for (let count = 0; count < 30; count++) await bench.add()
      const folds = Array.from({ length: 8 }, () => bench.store.fold(7))
      const taken = (await Promise.all(folds)).reduce((sum, count) => sum + count, 0)
      for (let more = 1; more > 0; ) more = await bench.store.fold(7)
      expect(taken).toBeLessThanOrEqual(30)
      expect(await ledger()).toMatchObject({ enqueued: 30, removed: 0 })
      const id = countsId('1h', bench.now(), 'default send-mail')
      expect(JSON.parse((await bench.store.records(COUNTS, { ids: [id] }))[0]!.body)).toEqual({ enqueued: 30 })
    })

    it('loses no job that is enqueued concurrently', async () => {
      const acts = Array.from({ length: 40 }, (_, index) => (index % 2 ? bench.store.fold(3) : bench.addMany(2)))
      await Promise.all(acts)
      while ((await bench.store.fold(100)) > 0);
      expect(await ledger()).toMatchObject({ enqueued: 40 })
    })

    it.each(STRANGE_TEXTS)('knows a queue and a tenant whose name is %s', async (_name, text) => {
      const id = await bench.ended(succeeded(), { queue: text, name: text, tenantId: text })
      await bench.store.fold(10)
      expect(await ledger(text)).toEqual({ enqueued: 1, removed: 0, idSum: id })
      const [counts] = await bench.store.records(COUNTS, { ids: [countsId('1m', bench.now(), `${text} ${text}`)] })
      expect(JSON.parse(counts!.body)).toMatchObject({ enqueued: 1, 'end:succeeded': 1 })
    })
  })
}
