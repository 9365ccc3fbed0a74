import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PostgresStore } from '../../../../src/store/postgres/store.js'
import type { Claimed, Settlement } from '../../../../src/store/store.js'
import { dropSchemas, openStore } from '../../../support/postgres.js'
import { jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let store: PostgresStore

beforeEach(async () => {
  store = await openStore()
  await store.migrate()
  await store.enqueue(jobs(6))
})

afterEach(() => store.close())

/** A plain success with the engine's usual decision, which needs no row of its own. */
function success(one: Claimed, result?: string): Settlement {
  const plain = settlement(one)
  if (plain.end.kind !== 'ended') return plain
  const decision = { action: 'succeed', why: 'succeeded at the first run' } as const
  const transition = { ...plain.end.transition, decision }
  return { ...plain, end: { ...plain.end, transition, ...(result !== undefined && { result }) } }
}

async function claimed() {
  return (await store.claim(request())).jobs
}

describe('settle, with many successes', () => {
  it('answers in the order of the settlements', async () => {
    const held = await claimed()
    const ends = held.map(one => success(one)).reverse()
    expect(await store.settle(ends)).toEqual(held.map(() => ({ status: 'settled', state: 'succeeded' })))
    expect(await store.settle(ends)).toEqual(held.map(() => ({ status: 'already' })))
  })

  it('checks the token of each claim', async () => {
    const claims = [await store.claim(request({ limit: 2 })), await store.claim(request({ limit: 3 }))]
    const [a, b, c, d, e] = claims.flatMap(claim => claim.jobs.map(one => success(one)))
    const [f] = (await claimed()).map(one => success(one))
    const swapped = { ...c!, lease: { ...c!.lease, token: a!.lease.token } }
    const statuses = (await store.settle([f!, swapped, e!, a!, d!, b!])).map(({ status }) => status)
    expect(statuses).toEqual(['settled', 'lost', 'settled', 'settled', 'settled', 'settled'])
    expect(await store.settle([a!, c!])).toEqual([{ status: 'already' }, { status: 'settled', state: 'succeeded' }])
    expect((await store.history(d!.lease.id, { limit: 1 })).data).toMatchObject([
      { startedAt: d!.startedAt, finishedAt: d!.finishedAt },
    ])
  })

  it('reports which of them were lost', async () => {
    const held = await claimed()
    const ends = held.map(one => success(one))
    await store.settle([settlement(held[1]!, 'failed'), settlement(held[4]!, 'failed')])
    const statuses = (await store.settle(ends)).map(({ status }) => status)
    expect(statuses).toEqual(['settled', 'lost', 'settled', 'settled', 'lost', 'settled'])
    const none = await store.settle([ends[1]!, ends[4]!])
    expect(none).toEqual([{ status: 'lost' }, { status: 'lost' }])
  })

  it('settles them together with other outcomes and their results', async () => {
    const held = await claimed()
    const results = [undefined, undefined, '{"sent":"\\""}']
    const ends = held.map((one, index) => (index % 2 === 0 ? success(one, results[index]) : settlement(one, 'failed')))
    const states = (await store.settle(ends)).map(answer => answer.status === 'settled' && answer.state)
    expect(states).toEqual(['succeeded', 'waiting', 'succeeded', 'waiting', 'succeeded', 'waiting'])
    expect(await store.get(held[2]!.id)).toMatchObject({ state: 'succeeded', result: '{"sent":"\\""}' })
    expect((await store.history(held[2]!.id, { limit: 10 })).data).toMatchObject([{ status: 'succeeded', run: 1 }])
  })
})
