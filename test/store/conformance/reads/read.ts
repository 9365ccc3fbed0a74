import type { JobFilter } from '../../../../src/store/store.js'
import { type Bench, cancelled, died, leaseOf, retry, STRANGE_TEXTS, snoozed, succeeded, uuid } from '../bench.js'
import type { Suite } from '../runner.js'

export function readCases(bench: Bench, { describe, expect, it }: Suite): void {
  const found = async (filter: JobFilter) => (await bench.store.list(filter, { limit: 1000 })).data.map(({ id }) => id)

  /** All pages, read one after the other. */
  async function pages(filter: JobFilter, limit: number): Promise<string[][]> {
    const all: string[][] = []
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await bench.store.list(filter, { limit, ...(cursor !== undefined && { cursor }) })
      all.push(page.data.map(({ id }) => id))
      cursor = page.next
    }
    return all
  }

  describe('get', () => {
    it('returns undefined for an unknown job or an invalid id', async () => {
      expect(await bench.store.get(uuid(5))).toBeUndefined()
      expect(await bench.store.get('nonsense')).toBeUndefined()
      expect(await bench.store.get('')).toBeUndefined()
    })

    it('sees a write as soon as it is acknowledged', async () => {
      for (let count = 0; count < 20; count++) expect(await bench.store.get(await bench.add())).toBeDefined()
    })

    it('gives a job that does not change any more', async () => {
      const id = await bench.add()
      const job = await bench.get(id)
      const copy = structuredClone(job)
      await bench.settle(await bench.claimOne(), died())
      expect(job).toEqual(copy)
    })
  })

  describe('list', () => {
    it('returns the newest first', async () => {
      const ids = await bench.addMany(5)
      expect(await found({})).toEqual(ids.reverse())
    })

    it('returns whole jobs', async () => {
      const id = await bench.ended(died(), { payload: JSON.stringify('x'.repeat(1000)), key: 'k', payloadHash: 'h' })
      expect((await bench.store.list({}, { limit: 5 })).data).toEqual([await bench.get(id)])
    })

    it('pages without skipping or repeating jobs of the same moment', async () => {
      const ids = (await bench.addMany(23)).reverse()
      const all = await pages({}, 5)
      expect(all.map(page => page.length)).toEqual([5, 5, 5, 5, 3])
      expect(all.flat()).toEqual(ids)
    })

    it('has no next page after one that is exactly full', async () => {
      await bench.addMany(10)
      expect(await pages({}, 5)).toHaveLength(2)
    })

    it('continues where it was, regardless of jobs added or removed meanwhile', async () => {
      const ids = (await bench.addMany(6)).reverse()
      const first = await bench.store.list({}, { limit: 2 })
      await bench.addMany(3)
      await bench.store.remove([ids[1]!, ids[2]!])
      const second = await bench.store.list({}, { limit: 10, cursor: first.next! })
      expect(second.data.map(({ id }) => id)).toEqual(ids.slice(3))
    })

    it.each([
      '',
      'x',
      'jobs:1',
      Buffer.from('history:1').toString('base64url'),
      Buffer.from('jobs:-1').toString('base64url'),
    ])('refuses %j as a cursor', async cursor => {
      await expect(bench.store.list({}, { limit: 5, cursor })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    })

    it('finds jobs by state, one or several', async () => {
      const good = await bench.ended(succeeded())
      const bad = await bench.ended(died())
      const gone = await bench.ended(cancelled())
      const { id: running } = await bench.running()
      const waiting = await bench.add()
      expect(await found({ state: 'succeeded' })).toEqual([good])
      expect(await found({ state: 'dead' })).toEqual([bad])
      expect(await found({ state: 'cancelled' })).toEqual([gone])
      expect(await found({ state: 'running' })).toEqual([running])
      expect(await found({ state: 'waiting' })).toEqual([waiting])
      expect(await found({ state: ['waiting', 'dead'] })).toEqual([waiting, bad])
      expect(await found({ state: [] })).toEqual([])
    })

    it('finds the jobs that a worker runs now', async () => {
      await bench.ended(succeeded())
      await bench.ended(died())
      const { id: own } = await bench.running()
      const { id: other } = await bench.running({}, { workerId: 'worker-2' })
      await bench.add()
      expect(await found({ workerId: 'worker-1' })).toEqual([own])
      expect(await found({ workerId: 'worker-2', state: 'running' })).toEqual([other])
      expect(await found({ workerId: 'worker-1', state: 'dead' })).toEqual([])
      expect(await bench.store.count({ workerId: 'worker-1' }, 10)).toEqual({ value: 1, relation: 'exact' })
    })

    it('finds jobs by phase', async () => {
      const later = await bench.add({ runAt: { delayMs: 1000 } })
      await bench.settle(await bench.running(), retry(1000))
      const [retrying] = await found({ phase: 'retrying' })
      await bench.settle(await bench.running(), snoozed(0))
      const now = await bench.add()
      const [, snoozing] = await found({ phase: 'queued' })
      expect(await found({ phase: 'scheduled' })).toEqual([later])
      expect(await found({ phase: 'queued' })).toEqual([now, snoozing])
      expect(await found({ phase: 'retrying' })).toEqual([retrying])
      bench.clock.advance(1000)
      expect(await found({ phase: 'scheduled' })).toEqual([])
      expect(await found({ phase: 'queued' })).toEqual([now, snoozing, later])
    })

    it('finds jobs that a paused queue or their dependency holds back by the phase blocked', async () => {
      const held = await bench.add({ dependency: 'api', queue: 'a' })
      const later = await bench.add({ dependency: 'api', queue: 'a', runAt: { delayMs: 60_000 } })
      const due = await bench.add({ queue: 'a' })
      await bench.settle(await bench.running({ queue: 'b' }), retry(0))
      const [again] = await found({ phase: 'retrying' })
      await bench.store.defer({ dependency: 'api', from: { dueWithinMs: 0 }, delaysMs: [1_000], pass: 0 })
      expect(await found({ phase: 'blocked' })).toEqual([held])
      expect(await found({ phase: 'scheduled' })).toEqual([later])
      await bench.store.setQueue('a', { paused: true })
      await bench.store.setQueue('b', { paused: true })
      expect(await found({ phase: 'blocked' })).toEqual([again, due, held])
      expect(await found({ phase: 'blocked', dependency: 'api' })).toEqual([held])
      expect(await found({ phase: 'blocked', queue: 'b' })).toEqual([again])
      expect([await found({ phase: 'queued' }), await found({ phase: 'retrying' })]).toEqual([[], []])
      expect(await bench.store.count({ phase: 'blocked' }, 10)).toEqual({ value: 3, relation: 'exact' })
      await bench.store.setQueue('a', { paused: false })
      await bench.store.setQueue('b', { paused: false })
      bench.clock.advance(1_000)
      expect(await found({ phase: 'blocked' })).toEqual([])
      expect(await found({ phase: 'queued' })).toEqual([due, held])
      expect(await found({ phase: 'retrying' })).toEqual([again])
    })

    it.each(['waiting', 'running', 'succeeded', 'dead', 'cancelled'] as const)(
      'pages through the %s among others',
      async state => {
        const ids: string[] = []
        for (let count = 0; count < 7; count++) {
          const wanted = {
            waiting: () => bench.add({ queue: 'q' }),
            running: async () => (await bench.running()).id,
            succeeded: () => bench.ended(succeeded()),
            dead: () => bench.ended(died()),
            cancelled: () => bench.ended(cancelled()),
          }
          for (const [name, make] of Object.entries(wanted)) {
            const id = await make()
            if (name === state) ids.unshift(id)
          }
        }
        expect(await pages({ state }, 3)).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
      },
    )

    it('finds jobs by queue, name and tenant', async () => {
      const id = await bench.add({ queue: 'q', name: 'n', tenantId: 't' })
      await bench.add()
      expect(await found({ queue: 'q' })).toEqual([id])
      expect(await found({ name: 'n' })).toEqual([id])
      expect(await found({ tenantId: 't' })).toEqual([id])
      expect(await found({ queue: 'q', name: 'send-mail' })).toEqual([])
    })

    it('finds jobs by key, over names and tenants', async () => {
      const one = await bench.add({ key: 'k', payloadHash: 'h' })
      const two = await bench.add({ key: 'k', payloadHash: 'h', tenantId: 't' })
      await bench.add({ key: 'other', payloadHash: 'h' })
      expect(await found({ key: 'k' })).toEqual([two, one])
      expect(await found({ key: 'k', tenantId: 't' })).toEqual([two])
      expect(await found({ key: 'K' })).toEqual([])
    })

    it('finds jobs by id', async () => {
      const ids = await bench.addMany(4)
      expect(await found({ ids: [ids[0]!, ids[2]!, uuid(999_999), 'nonsense'] })).toEqual([ids[2], ids[0]])
      expect(await found({ ids: [] })).toEqual([])
      expect(await found({ ids, state: 'dead' })).toEqual([])
    })

    it('finds jobs by a whole tag', async () => {
      const id = await bench.add({ tags: ['red', 'dark blue', ',', '"'] })
      await bench.add({ tags: ['redder'] })
      for (const tag of ['red', 'dark blue', ',', '"']) expect(await found({ tag })).toEqual([id])
      for (const tag of ['re', 'blue', '', '","', 'red,dark blue', '%', 'RED']) expect(await found({ tag })).toEqual([])
    })

    it('finds jobs by the reason of their death', async () => {
      const id = await bench.ended(died('poison'))
      await bench.ended(died('exhausted'))
      expect(await found({ reason: 'poison' })).toEqual([id])
    })

    it('finds jobs from one time on and before another', async () => {
      const start = bench.now()
      const ids: string[] = []
      for (let count = 0; count < 4; count++) {
        ids.push(await bench.add())
        bench.clock.advance(10)
      }
      expect(await found({ createdAfter: start + 10, createdBefore: start + 30 })).toEqual([ids[2], ids[1]])
    })

    it.each(STRANGE_TEXTS)('finds by the exact text: %s', async (_name, text) => {
      const id = await bench.add({ name: text, queue: text, tenantId: text, key: text, payloadHash: 'h', tags: [text] })
      await bench.add()
      expect(await found({ name: text, queue: text, tenantId: text, key: text, tag: text })).toEqual([id])
      for (const field of ['name', 'queue', 'tenantId', 'tag'] as const) {
        expect(await found({ [field]: text })).toEqual([id])
        expect(await found({ [field]: `${text}!` })).toEqual([])
      }
    })

    it('finds old jobs among thousands of others', async () => {
      const old = await bench.add({ name: 'needle', runAt: { delayMs: 1 } })
      const dead = await bench.ended(died(), { tags: ['needle'] })
      for (let count = 0; count < 3; count++) await bench.addMany(4000, { queue: 'other' })
      expect(await found({ name: 'needle' })).toEqual([old])
      expect(await found({ tag: 'needle', state: 'dead' })).toEqual([dead])
      expect(await found({ state: 'waiting', queue: 'default' })).toEqual([old])
      expect(await found({ phase: 'scheduled' })).toEqual([old])
      expect(await bench.store.count({ name: 'needle' }, 5)).toEqual({ value: 1, relation: 'exact' })
    })
  })

  describe('list, the oldest first', () => {
    it('gives the same jobs the other way round', async () => {
      const ids = await bench.addMany(5)
      expect(await bench.listed({}, { order: 'oldest' })).toEqual(ids)
      expect(await bench.listed({}, { order: 'newest' })).toEqual([...ids].reverse())
    })

    it('continues in the order of the cursor, regardless of the requested order', async () => {
      const ids = await bench.addMany(7)
      const first = await bench.store.list({}, { limit: 3, order: 'oldest' })
      const second = await bench.store.list({}, { limit: 3, cursor: first.next! })
      const third = await bench.store.list({}, { limit: 3, cursor: second.next!, order: 'newest' })
      expect([first, second, third].map(page => page.data.map(({ id }) => id))).toEqual([
        ids.slice(0, 3),
        ids.slice(3, 6),
        ids.slice(6),
      ])
      expect(third).not.toHaveProperty('next')
      const newest = await bench.store.list({}, { limit: 3 })
      expect(await bench.listed({}, { cursor: newest.next!, order: 'oldest' })).toEqual(ids.slice(0, 4).reverse())
    })

    it('shows jobs that come later, after the others', async () => {
      await bench.addMany(3)
      const { next } = await bench.store.list({}, { limit: 2, order: 'oldest' })
      const late = await bench.add()
      expect((await bench.listed({}, { cursor: next! })).at(-1)).toBe(late)
    })

    it('finds few jobs among many, by every kind of condition', async () => {
      const first = await bench.ended(died(), { name: 'first' })
      await bench.addMany(4500, { queue: 'many' })
      const last = await bench.ended(died(), { name: 'last' })
      for (const filter of [{ state: 'dead' }, { queue: 'default' }, { ids: [last, first] }, { reason: 'exhausted' }]) {
        const page = await bench.store.list(filter as JobFilter, { limit: 1, order: 'oldest' })
        expect(page.data).toMatchObject([{ id: first }])
        expect(await bench.listed(filter as JobFilter, { cursor: page.next! })).toEqual([last])
      }
    })
  })

  describe('count', () => {
    it('counts exactly up to its cap, and says when there are more', async () => {
      await bench.addMany(5)
      expect(await bench.store.count({}, 6)).toEqual({ value: 5, relation: 'exact' })
      expect(await bench.store.count({}, 5)).toEqual({ value: 5, relation: 'exact' })
      expect(await bench.store.count({}, 4)).toEqual({ value: 4, relation: 'at-least' })
      expect(await bench.store.count({}, 0)).toEqual({ value: 0, relation: 'at-least' })
    })

    it('counts the jobs that match the filter', async () => {
      await bench.ended(died())
      await bench.ended(succeeded())
      await bench.running()
      await bench.addMany(3, { queue: 'q' })
      const count = async (filter: JobFilter) => (await bench.store.count(filter, 100)).value
      expect(await count({ state: 'dead' })).toBe(1)
      expect(await count({ state: 'running' })).toBe(1)
      expect(await count({ state: ['dead', 'succeeded'] })).toBe(2)
      expect(await count({ queue: 'q' })).toBe(3)
      expect(await count({ state: 'waiting', queue: 'q' })).toBe(3)
      expect(await count({ state: 'dead', queue: 'q' })).toBe(0)
      expect(await count({ phase: 'queued', queue: 'q' })).toBe(3)
      expect(await count({ phase: 'retrying' })).toBe(0)
      expect(await count({ state: 'cancelled' })).toBe(0)
    })
  })

  describe('history and logs, by page', () => {
    it('gives attempts newest first, page by page', async () => {
      const id = await bench.add()
      for (let run = 0; run < 5; run++) await bench.settle(await bench.claimOne(), retry(0))
      const first = await bench.store.history(id, { limit: 2 })
      const second = await bench.store.history(id, { limit: 2, cursor: first.next! })
      const third = await bench.store.history(id, { limit: 2, cursor: second.next! })
      expect([first, second, third].map(page => page.data.map(({ run }) => run))).toEqual([[5, 4], [3, 2], [1]])
      expect(third).not.toHaveProperty('next')
    })

    it('gives log lines in their order, page by page, over runs', async () => {
      const first = await bench.running()
      const line = (message: string) => ({ at: 1, message })
      await bench.store.report([{ lease: leaseOf(first), logs: ['a', 'b', 'c'].map(line) }])
      await bench.settle(first, retry(0))
      const second = await bench.claimOne()
      await bench.store.report([{ lease: leaseOf(second), logs: ['d', 'e'].map(line) }])
      const pageOne = await bench.store.logs(first.id, { limit: 2 })
      const pageTwo = await bench.store.logs(first.id, { limit: 2, cursor: pageOne.next! })
      const pageThree = await bench.store.logs(first.id, { limit: 2, cursor: pageTwo.next! })
      const messages = [pageOne, pageTwo, pageThree].map(page => page.data.map(({ message }) => message))
      expect(messages).toEqual([['a', 'b'], ['c', 'd'], ['e']])
      expect(pageThree).not.toHaveProperty('next')
    })

    it('returns nothing for an unknown job', async () => {
      expect(await bench.store.history(uuid(5), { limit: 5 })).toEqual({ data: [] })
      expect(await bench.store.logs('nonsense', { limit: 5 })).toEqual({ data: [] })
    })

    it('refuses the cursor of another list', async () => {
      const id = await bench.add()
      await bench.addMany(2)
      const { next } = await bench.store.list({}, { limit: 1 })
      const page = { limit: 5, cursor: next! }
      await expect(bench.store.history(id, page)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
      await expect(bench.store.logs(id, page)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    })
  })
}
