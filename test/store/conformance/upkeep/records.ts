import type { RecordQuery } from '../../../../src/store/record.js'
import { ANY_TEXTS, type Bench } from '../bench.js'
import type { Suite } from '../runner.js'

export function recordCases(bench: Bench, { describe, expect, it }: Suite): void {
  const put = (id: string, body: string | null, expected?: number, kind = 'dependency') =>
    bench.store
      .putRecords([{ kind, id, body, ...(expected !== undefined && { expect: expected }) }])
      .then(([answer]) => answer!)
  const read = (query: RecordQuery, kind = 'dependency') => bench.store.records(kind, query)
  const one = async (id: string, kind = 'dependency') => (await read({ ids: [id] }, kind))[0]
  const idsOf = async (query: RecordQuery) => (await read(query)).map(({ id }) => id)

  describe('records', () => {
    it('are kept as they were written, with a version and a time', async () => {
      expect(await put('a', '{ "n" : 1.0 }')).toEqual({ status: 'written', version: 1 })
      const at = bench.now()
      bench.clock.advance(10)
      const record = { kind: 'dependency', id: 'a', version: 1, body: '{ "n" : 1.0 }', updatedAt: at }
      expect(await read({ ids: ['a'] })).toEqual([record])
    })

    it('get another version and time with every write, also of the same body', async () => {
      await put('a', '1')
      bench.clock.advance(10)
      expect(await put('a', '1')).toEqual({ status: 'written', version: 2 })
      expect(await one('a')).toMatchObject({ version: 2, updatedAt: bench.now() })
    })

    it('are written only over the version that is expected', async () => {
      await put('a', '1')
      await put('a', '2')
      const current = await one('a')
      expect(await put('a', '3', 1)).toEqual({ status: 'conflict', current })
      expect(await put('a', '3', 0)).toEqual({ status: 'conflict', current })
      expect(await put('a', '3', 3)).toEqual({ status: 'conflict', current })
      expect(await put('a', '3', 2)).toEqual({ status: 'written', version: 3 })
      expect(await one('a')).toMatchObject({ body: '3' })
    })

    it('are created if none is expected', async () => {
      expect(await put('a', '1', 0)).toEqual({ status: 'written', version: 1 })
      expect(await put('b', '1', 1)).toEqual({ status: 'conflict' })
      expect(await one('b')).toBeUndefined()
    })

    it('are removed in any version, or only in the expected version', async () => {
      await put('a', '1')
      expect(await put('a', null, 7)).toMatchObject({ status: 'conflict', current: { version: 1 } })
      expect(await put('a', null, 1)).toEqual({ status: 'written', version: 0 })
      expect(await one('a')).toBeUndefined()
      await put('a', '2')
      expect(await put('a', null)).toEqual({ status: 'written', version: 0 })
      expect(await put('a', null)).toEqual({ status: 'written', version: 0 })
      expect(await put('a', null, 0)).toEqual({ status: 'written', version: 0 })
      expect(await put('a', null, 1)).toEqual({ status: 'conflict' })
      expect(await put('a', '3', 0)).toEqual({ status: 'written', version: 1 })
    })

    it('are written or in conflict each for itself, in the order of the batch', async () => {
      await put('b', '1')
      const answers = await bench.store.putRecords([
        { kind: 'dependency', id: 'a', body: '1', expect: 0 },
        { kind: 'dependency', id: 'b', body: '2', expect: 0 },
        { kind: 'dependency', id: 'a', body: '2', expect: 1 },
        { kind: 'dependency', id: 'a', body: '3', expect: 1 },
      ])
      expect(answers).toMatchObject([
        { status: 'written', version: 1 },
        { status: 'conflict', current: { id: 'b', body: '1' } },
        { status: 'written', version: 2 },
        { status: 'conflict', current: { id: 'a', body: '2', version: 2 } },
      ])
      expect(await bench.store.putRecords([])).toEqual([])
    })

    it('let one of many writers win that expect the same version', async () => {
      await put('a', '0')
      const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => put('a', `${index + 1}`, 1)))
      const winners = answers.flatMap((answer, index) => (answer.status === 'written' ? [index + 1] : []))
      expect(winners).toHaveLength(1)
      expect(await one('a')).toMatchObject({ version: 2, body: `${winners[0]}` })
    })

    it('let one of many writers win that expect no record', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => put('a', `${index}`, 0)))
      expect(answers.filter(({ status }) => status === 'written')).toHaveLength(1)
      expect(await one('a')).toMatchObject({ version: 1 })
    })

    it('count every write of many writers without an expected version', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => put('a', `${index}`)))
      expect(answers.map(answer => answer.status === 'written' && answer.version).sort((a, b) => +a - +b)).toEqual(
        Array.from({ length: 12 }, (_, index) => index + 1),
      )
    })

    it('do not deadlock in batches of a different order', async () => {
      const batch = ['a', 'b', 'c', 'd'].map(id => ({ kind: 'dependency', id, body: '1' }))
      await Promise.all(
        Array.from({ length: 8 }, (_, index) => bench.store.putRecords(index % 2 ? batch : [...batch].reverse())),
      )
      expect((await read({ limit: 9 })).map(({ version }) => version)).toEqual([8, 8, 8, 8])
    })

    it('are independent of records of other kinds', async () => {
      await put('a', '1')
      await put('a', '2', 0, 'redrive')
      expect(await read({ ids: ['a'] })).toMatchObject([{ body: '1' }])
      expect(await read({ limit: 10 }, 'redrive')).toMatchObject([{ kind: 'redrive', body: '2' }])
      await put('a', null)
      expect(await one('a', 'redrive')).toBeDefined()
    })

    it('are found by ids, in their order, each once', async () => {
      for (const id of ['c', 'a', 'b']) await put(id, '1')
      expect(await idsOf({ ids: ['c', 'x', 'a', 'c'] })).toEqual(['a', 'c'])
      expect(await idsOf({ ids: [] })).toEqual([])
    })

    it('are found by a range of ids', async () => {
      for (const id of ['a', 'b', 'ba', 'c', 'C']) await put(id, '1')
      expect(await idsOf({ limit: 10 })).toEqual(['C', 'a', 'b', 'ba', 'c'])
      expect(await idsOf({ from: 'b', limit: 10 })).toEqual(['b', 'ba', 'c'])
      expect(await idsOf({ to: 'b', limit: 10 })).toEqual(['C', 'a'])
      expect(await idsOf({ from: 'a', to: 'c', limit: 10 })).toEqual(['a', 'b', 'ba'])
      expect(await idsOf({ from: 'a', to: 'c', limit: 2 })).toEqual(['a', 'b'])
      expect(await idsOf({ from: 'c', to: 'a', limit: 2 })).toEqual([])
    })

    it('are found from the end of a range', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await put(id, '1')
      expect(await idsOf({ limit: 2, order: 'down' })).toEqual(['d', 'c'])
      expect(await idsOf({ from: 'b', to: 'd', limit: 9, order: 'down' })).toEqual(['c', 'b'])
      expect(await idsOf({ from: 'b', limit: 2, order: 'up' })).toEqual(['b', 'c'])
    })

    it('are in byte order, not in the order of a language', async () => {
      const ids = ['', ' ', 'Z', 'a', 'zz', 'z~', 'é', '\uffff', '😀']
      for (const id of [...ids].reverse()) await put(id, '1')
      expect(await idsOf({ limit: 99 })).toEqual(ids)
      expect(await idsOf({ from: 'é', limit: 99 })).toEqual(['é', '\uffff', '😀'])
    })

    it.each(ANY_TEXTS)('may have %s for id, kind and body', async (_name, text) => {
      await put(text, JSON.stringify(text), 0, text)
      await put('other', text, 0, text)
      expect(await one(text, text)).toMatchObject({ kind: text, id: text, body: JSON.stringify(text) })
      expect(await one('other', text)).toMatchObject({ body: text })
      expect(await put(text, '1', 1, text)).toEqual({ status: 'written', version: 2 })
      expect(await put(text, null, 2, text)).toEqual({ status: 'written', version: 0 })
      expect((await read({ limit: 5 }, text)).map(({ id }) => id)).toEqual(['other'])
    })

    it('may be long', async () => {
      const [id, body] = ['x'.repeat(3000), JSON.stringify('y'.repeat(200_000))]
      await put(id, body)
      await put(`${id}!`, '1')
      expect(await one(id)).toMatchObject({ id, body })
      expect(await idsOf({ limit: 9 })).toEqual([id, `${id}!`])
    })
  })
}
