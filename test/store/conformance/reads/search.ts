import type { JobFilter } from '../../../../src/store/store.js'
import { type Bench, BOOM, died, retry, STRANGE_TEXTS, succeeded } from '../bench.js'
import type { Suite } from '../runner.js'

export function searchCases(bench: Bench, { describe, expect, it }: Suite): void {
  const found = (filter: JobFilter) => bench.listed(filter)

  describe('search by text', () => {
    it.each<[what: string, text: string]>([
      ['name', 'SEND-inv'],
      ['queue', 'Mails'],
      ['key', 'order:a-'],
      ['tags', 'eu-WEST'],
      ['payload', '"cents":4200'],
      ['error name', 'connectionerror'],
      ['error code', 'econnREFUSED'],
      ['error message', 'no listener'],
    ])('finds a job by a part of its %s, ignoring case', async (_what, text) => {
      await bench.ended(died())
      const error = { ...BOOM, name: 'ConnectionError', code: 'ECONNREFUSED', message: 'No listener on 10.0.0.1' }
      const job = await bench.running({
        name: 'send-invoice',
        queue: 'mails',
        key: 'order:A-17',
        payloadHash: 'h',
        tags: ['eu-west', 'vip'],
        payload: '{"cents":4200}',
      })
      await bench.settle(job, retry(1000, {}, error))
      await bench.add()
      expect(await found({ text })).toEqual([job.id])
      expect(await bench.store.count({ text }, 10)).toEqual({ value: 1, relation: 'exact' })
    })

    it('finds a job by a part of its id', async () => {
      const [first, second] = await bench.addMany(2)
      expect(await found({ text: second!.slice(-12) })).toEqual([second])
      expect(await found({ text: first!.slice(0, 20).toUpperCase() })).toEqual([second, first])
      expect(await found({ text: first!.replaceAll('-', '') })).toEqual([])
    })

    it('looks into a payload of any length', async () => {
      const id = await bench.add({ payload: JSON.stringify(`${'x'.repeat(5_000)} needle`) })
      expect(await found({ text: 'NEEDLE' })).toEqual([id])
    })

    it.each(['100%', 'a_c', '50\\%', "it's", '"quoted"', '[a-z]*'])('searches for %s literally', async text => {
      const id = await bench.add({ key: `key ${text}`, payloadHash: 'h' })
      await bench.add({ key: '100x abc 50% its quoted a', payloadHash: 'h' })
      expect(await found({ text })).toEqual([id])
    })

    it('does not look into the secrets of HTTP jobs if they are masked', async () => {
      const headers = { authorization: 'Bearer s3cret' }
      const payload = JSON.stringify({ url: 'https://api.example/Pay?token=t0ken', headers, body: 'x'.repeat(900) })
      const id = await bench.add({ name: 'http', payload })
      const strange = await bench.add({ name: 'http', payload: '{"url":5,"body":"\\u0000\\ud800 s3cret"}' })
      const other = await bench.add({ name: 'mail', payload: '"s3cret"' })
      const empty = await bench.add({ name: 'http', payload: 'null' })
      const masked = (text: string) => found({ text, masksSecrets: true })
      expect(await found({ text: 's3cret' })).toEqual([other, strange, id])
      expect(await masked('s3cret')).toEqual([other])
      expect(await masked('t0ken')).toEqual([])
      expect(await masked('API.example/pay')).toEqual([id])
      expect(await masked('http')).toEqual([empty, strange, id])
      const counted = bench.store.count({ text: 's3cret', masksSecrets: true }, 10)
      expect(await counted).toEqual({ value: 1, relation: 'exact' })
    })

    it('combines with other conditions', async () => {
      const dead = await bench.ended(died(), { payload: '"needle"' })
      await bench.ended(succeeded(), { payload: '"needle"' })
      await bench.add({ payload: '"needle"', queue: 'other' })
      expect(await found({ text: 'needle', state: 'dead' })).toEqual([dead])
      expect(await found({ text: 'needle', queue: 'none' })).toEqual([])
    })
  })

  describe('search by error', () => {
    it('looks at name, code and message of the last error, and at nothing else', async () => {
      const id = await bench.ended(died(), { payload: '"boom in the payload"' })
      const fine = await bench.add({ payload: '"boom"' })
      expect(await found({ error: 'BOOM' })).toEqual([id])
      expect(await found({ error: 'econnreset' })).toEqual([id])
      // Only the stack contains this text.
      expect(await found({ error: 'Error: boom' })).toEqual([])
      expect(await found({ error: 'payload' })).toEqual([])
      expect(await found({ ids: [fine], error: 'boom' })).toEqual([])
    })

    it('searches only the last error, and none of a job that succeeded', async () => {
      const first = await bench.running()
      await bench.settle(first, retry(0, {}, { name: 'A', message: 'first' }))
      await bench.settle(await bench.claimOne(), retry(0, {}, { name: 'B', message: 'second' }))
      expect(await found({ error: 'first' })).toEqual([])
      expect(await found({ error: 'second' })).toEqual([first.id])
      await bench.settle(await bench.claimOne(), succeeded())
      expect(await found({ error: 'second' })).toEqual([])
    })

    it.each(STRANGE_TEXTS)('is not upset by %s in an error', async (_name, message) => {
      const job = await bench.running()
      await bench.settle(job, retry(1000, {}, { name: 'Error', message: `strange ${message}` }))
      expect(await found({ error: 'strange' })).toEqual([job.id])
      expect(await found({ error: 'nowhere' })).toEqual([])
    })
  })

  describe('a list with a scan limit', () => {
    /** All pages, however short. */
    async function pages(filter: JobFilter, limit: number, lookAt: number) {
      const all: string[] = []
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const page = await bench.store.list(filter, { limit, lookAt, ...(cursor !== undefined && { cursor }) })
        all.push(...page.data.map(({ id }) => id))
        cursor = page.next
      }
      return all
    }

    it.each<[limit: number, lookAt: number]>([
      [1, 1],
      [3, 4],
      [50, 7],
      [5, 1000],
    ])('finds every job once, with %i per page and a scan limit of %i', async (limit, lookAt) => {
      const wanted: string[] = []
      for (let count = 0; count < 6; count++) {
        wanted.unshift(await bench.add({ name: 'wanted', payload: '"needle"' }))
        await bench.addMany(4)
      }
      expect(await pages({ name: 'wanted' }, limit, lookAt)).toEqual(wanted)
      expect(await pages({ text: 'needle' }, limit, lookAt)).toEqual(wanted)
      expect(await pages({}, limit, lookAt)).toHaveLength(30)
    })

    it('returns how many jobs it scanned for a text', async () => {
      await bench.add({ name: 'wanted' })
      await bench.addMany(20)
      const page = await bench.store.list({ text: 'wanted' }, { limit: 5, lookAt: 1000 })
      expect(page).toMatchObject({ looked: 21 })
      expect(page.data).toHaveLength(1)
      expect(page.next).toBeUndefined()
    })

    it('does not stop before the few jobs that an index finds', async () => {
      const dead = await bench.ended(died())
      await bench.addMany(30, { queue: 'other' })
      expect(await pages({ state: 'dead' }, 5, 10)).toEqual([dead])
    })

    it('looks at no more jobs than there are, and at one at least for each that it finds', async () => {
      const dead = [await bench.ended(died()), await bench.ended(died())]
      await bench.addMany(30, { queue: 'other' })
      const first = await bench.store.list({ state: 'dead', text: 'boom' }, { limit: 1, lookAt: 100 })
      expect(first.data.map(({ id }) => id)).toEqual([dead[1]])
      expect(first.looked! > 0 && first.looked! <= 32).toBe(true)
    })
  })

  describe('a count with a scan limit', () => {
    it('is exact within the limit', async () => {
      await bench.addMany(5, { name: 'wanted' })
      expect(await bench.store.count({ name: 'wanted' }, 10, 1000)).toEqual({ value: 5, relation: 'exact' })
      expect(await bench.store.count({ name: 'wanted' }, 3, 1000)).toEqual({ value: 3, relation: 'at-least' })
    })
  })
}
