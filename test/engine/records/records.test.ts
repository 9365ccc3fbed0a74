import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../src/engine/client/log.js'
import { Records } from '../../../src/engine/records/records.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'
import { memoryStore } from '../../../src/store/memory.js'

interface Tally {
  readonly count: number
}

function tallies() {
  const store = memoryStore({ clock: new VirtualClock() })
  const errors: unknown[] = []
  const log = { ...silentLog, error: (facts: unknown) => errors.push(facts) }
  const env = { connection: { store: async () => store }, log }
  const records = new Records<Tally>({ env, kind: 'tally', name: id => `tally "${id}"` })
  return { store, records, errors }
}

const plusOne = (tally: Tally | undefined): Tally => ({ count: (tally?.count ?? 0) + 1 })

describe('change', () => {
  it('creates a record that does not exist', async () => {
    const { records } = tallies()
    expect(await records.change('a', plusOne)).toEqual({ id: 'a', version: 1, body: { count: 1 } })
    expect(await records.find('a')).toEqual({ id: 'a', version: 1, body: { count: 1 } })
  })

  it('reads the record again when another writer was faster', async () => {
    const { records } = tallies()
    await records.change('a', plusOne)
    const seen: (number | undefined)[] = []
    const { body } = await records.change('a', async tally => {
      seen.push(tally?.count)
      if (seen.length === 1) await records.change('a', plusOne)
      return plusOne(tally)
    })
    expect(seen).toEqual([1, 2])
    expect(body).toEqual({ count: 3 })
  })

  it('loses no change of two concurrent writers', async () => {
    const { records } = tallies()
    await Promise.all([records.change('a', plusOne), records.change('a', plusOne)])
    expect((await records.find('a'))?.body).toEqual({ count: 2 })
  })

  it('gives up after 20 conflicts', async () => {
    const { records } = tallies()
    let tries = 0
    const contended = records.change('a', async tally => {
      tries++
      await records.change('a', plusOne)
      return plusOne(tally)
    })
    await expect(contended).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'tally "a" was modified concurrently; retry',
    })
    expect(tries).toBe(20)
    expect((await records.find('a'))?.body).toEqual({ count: 20 })
  })

  it('writes nothing when the update returns the same body', async () => {
    const { records } = tallies()
    await records.change('a', plusOne)
    expect(await records.change('a', tally => tally!)).toEqual({ id: 'a', version: 1, body: { count: 1 } })
  })

  it('passes on the error of an update', async () => {
    const { records } = tallies()
    const refused = records.change('a', () => {
      throw new Error('there is no tally')
    })
    await expect(refused).rejects.toThrow('there is no tally')
    expect(await records.find('a')).toBeUndefined()
  })
})

describe('write', () => {
  it('writes only the expected version', async () => {
    const { records } = tallies()
    expect(await records.write('a', { count: 1 }, 0)).toBe(1)
    expect(await records.write('a', { count: 9 }, 0)).toBeUndefined()
    expect(await records.write('a', { count: 2 }, 1)).toBe(2)
  })
})

describe('page', () => {
  it('is full however many unwanted and unreadable records lie between', async () => {
    const { store, records } = tallies()
    for (let n = 0; n < 30; n++) await records.write(`r${String(n).padStart(2, '0')}`, { count: n }, 0)
    await store.putRecords([{ kind: 'tally', id: 'r05', body: 'no JSON' }])
    const everyFifth = ({ count }: Tally): boolean => count % 5 === 0
    const ids = async (order: 'up' | 'down') =>
      (await records.page({ limit: 3, order }, everyFifth)).map(({ id }) => id)
    expect(await ids('up')).toEqual(['r00', 'r10', 'r15'])
    expect(await ids('down')).toEqual(['r25', 'r20', 'r15'])
  })
})

describe('a damaged record', () => {
  async function damaged() {
    const t = tallies()
    await t.records.write('a', { count: 1 }, 0)
    await t.store.putRecords([{ kind: 'tally', id: 'b', body: 'no JSON' }])
    return t
  }

  it('counts as absent in every read', async () => {
    const { records } = await damaged()
    expect(await records.find('b')).toBeUndefined()
    expect((await records.these(['a', 'b'])).map(({ id }) => id)).toEqual(['a'])
    expect((await records.page({ limit: 10 })).map(({ id }) => id)).toEqual(['a'])
  })

  it('is replaced by a change', async () => {
    const { records } = await damaged()
    expect(await records.change('b', plusOne)).toEqual({ id: 'b', version: 2, body: { count: 1 } })
    expect((await records.find('b'))?.body).toEqual({ count: 1 })
  })

  it('is logged once', async () => {
    const { records, errors } = await damaged()
    await records.find('b')
    await records.page({ limit: 10 })
    expect(errors).toEqual([{ event: 'record.damaged', kind: 'tally', recordId: 'b' }])
  })
})
