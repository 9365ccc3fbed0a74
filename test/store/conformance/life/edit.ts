import type { JobEdit } from '../../../../src/store/store.js'
import { type Bench, retry, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function editCases(bench: Bench, { describe, expect, it }: Suite): void {
  const edit = async (id: string, changes: Omit<JobEdit, 'expect'>) =>
    bench.edit(id, { expect: await bench.get(id), ...changes })

  describe('edit', () => {
    it('changes the given fields and no others', async () => {
      const id = await bench.add({
        tags: ['a'],
        timeoutMs: 5000,
        deadline: { delayMs: 60_000 },
        key: 'k',
        payloadHash: 'h',
      })
      const before = await bench.get(id)
      const changed = await edit(id, { priority: 9 })
      expect(changed).toMatchObject({ status: 'changed', job: { priority: 9 } })
      expect(await bench.get(id)).toEqual({ ...before, priority: 9 })
    })

    it.each<[what: string, changes: Omit<JobEdit, 'expect'>, becomes: object]>([
      ['payload', { payload: '{"n":2}' }, { payload: '{"n":2}' }],
      [
        'a long payload',
        { payload: JSON.stringify('x'.repeat(5_000)) },
        { payload: JSON.stringify('x'.repeat(5_000)) },
      ],
      ['tags', { tags: ['b', 'c'] }, { tags: ['b', 'c'] }],
      ['no tags', { tags: [] }, { tags: [] }],
      ['timeout', { timeoutMs: 1234 }, { timeoutMs: 1234 }],
      ['policy', { override: { maxRetries: 2 } }, { override: { maxRetries: 2 } }],
      ['queue', { queue: 'elsewhere' }, { queue: 'elsewhere' }],
      ['dependency', { dependency: 'api.example' }, { dependency: 'api.example' }],
    ])('%s', async (_what, changes, becomes) => {
      const id = await bench.add({ payload: JSON.stringify('y'.repeat(500)), tags: ['a'] })
      await edit(id, changes)
      expect(await bench.get(id)).toMatchObject(becomes)
    })

    it('changes times, relative or absolute', async () => {
      const id = await bench.add()
      await edit(id, { runAt: { delayMs: 5_000 }, deadline: { at: bench.now() + 90_000 } })
      expect(await bench.get(id)).toMatchObject({ runAt: bench.now() + 5_000, deadline: bench.now() + 90_000 })
    })

    it('removes optional fields', async () => {
      const given = { timeoutMs: 5000, deadline: { delayMs: 60_000 }, override: { maxRetries: 1 } }
      const id = await bench.add(given)
      await edit(id, { timeoutMs: null, deadline: null, override: null })
      const job = await bench.get(id)
      expect([job.timeoutMs, job.deadline, job.override]).toEqual([undefined, undefined, undefined])
    })

    it('moves a job to a queue where workers find it, and the ledgers of both still balance', async () => {
      const id = await bench.add()
      await edit(id, { queue: 'elsewhere', priority: 1 })
      expect(await bench.claim()).toEqual([])
      expect((await bench.claimOne({ queues: ['elsewhere'] })).id).toBe(id)
      expect((await bench.store.queues()).map(({ name }) => name)).toContain('elsewhere')
      for (const { ledger, rows, idSum } of (await bench.store.audit()).queues) {
        expect(ledger.enqueued - ledger.removed).toBe(Object.values(rows).reduce((sum, count) => sum + count, 0))
        expect(ledger.idSum).toBe(idSum)
      }
    })

    it('does not change a job that was claimed since it was read', async () => {
      const id = await bench.add()
      const expect_ = await bench.get(id)
      const claimed = await bench.claimOne()
      expect(await bench.edit(id, { expect: expect_, priority: 1 })).toMatchObject({
        status: 'refused',
        job: { state: 'running', priority: 5 },
      })
      await bench.settle(claimed, retry(0))
      expect(await bench.edit(id, { expect: expect_, priority: 1 })).toMatchObject({ status: 'refused' })
      expect(await bench.get(id)).toMatchObject({ state: 'waiting', priority: 5, run: 1 })
    })

    it('does not change a job that was edited since it was read', async () => {
      const id = await bench.add()
      const read = await bench.get(id)
      await edit(id, { tags: ['first'] })
      expect(await bench.edit(id, { expect: read, tags: ['second'] })).toMatchObject({ status: 'refused' })
      expect((await bench.get(id)).tags).toEqual(['first'])
    })

    it('reports an unknown job', async () => {
      const read = await bench.get(await bench.add())
      expect(await bench.edit(uuid(999), { expect: read })).toEqual({ id: uuid(999), status: 'not-found' })
      expect(await bench.edit('nonsense', { expect: read })).toEqual({ id: 'nonsense', status: 'not-found' })
    })

    it('keeps the key for the payload that was enqueued', async () => {
      const given = { key: 'k', payload: '1', payloadHash: 'of 1' }
      const id = await bench.add(given)
      await edit(id, { payload: '2' })
      expect(await bench.store.enqueue([bench.job(given)])).toEqual([{ status: 'existing', id }])
      const [answer] = await bench.store.enqueue([bench.job({ ...given, payload: '2', payloadHash: 'of 2' })])
      expect(answer).toMatchObject({ status: 'conflict', id })
    })
  })
}
