import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cancel } from '../../../../src/core/job/changes.js'
import type { Counts } from '../../../../src/store/delta.js'
import { COUNTS, ERROR_GROUP, type ErrorGroup } from '../../../../src/store/fold.js'
import type { PostgresStore } from '../../../../src/store/postgres/store.js'
import type { Claimed, Settlement } from '../../../../src/store/store.js'
import { Line } from '../../../support/line.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { expectBalance, foldAll, job, jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: PostgresStore
let client: pg.Client

beforeEach(async () => {
  schema = freshSchema()
  store = await openStore({ schema })
  await store.migrate()
  client = new pg.Client(await postgresUrl())
  await client.connect()
})

afterEach(async () => {
  await store.close()
  await client.end()
})

/** The counts of these jobs, summed over the records of all hours. */
async function counts(place = 'default send-mail'): Promise<Counts> {
  await foldAll(store)
  const sum: Counts = {}
  for (const { id, body } of await store.records(COUNTS, { from: '1h ', to: '1h~', limit: 100 })) {
    if (!id.endsWith(`Z ${place}`)) continue
    for (const [what, by] of Object.entries(JSON.parse(body) as Counts)) sum[what] = (sum[what] ?? 0) + by
  }
  return sum
}

async function unfolded(): Promise<number> {
  return (await sql(`SELECT 1 FROM ${schema}.deltas`)).length
}

describe('enqueue', () => {
  it('counts created jobs once, even if it is repeated', async () => {
    const all = jobs(3)
    await store.enqueue(all.slice(0, 2))
    await store.enqueue(all)
    await store.enqueue(all)
    expect(await unfolded()).toBe(2)
    expect(await counts()).toEqual({ enqueued: 3 })
    await expectBalance(store)
  })

  it('counts a job once that occurs twice in a batch', async () => {
    const one = job()
    await store.enqueue([one, one, job(), { ...one, queue: 'other' }])
    expect(await counts()).toEqual({ enqueued: 2 })
    await expectBalance(store)
  })

  it('does not count duplicates by key or unique value', async () => {
    const keyed = { key: 'k', payloadHash: 'h' }
    await store.enqueue([job(keyed), job(keyed), job({ unique: 'u' }), job({ unique: 'u' }), job()])
    await store.enqueue([job(keyed), job({ unique: 'u' })])
    expect(await counts()).toEqual({ enqueued: 3 })
    await expectBalance(store)
  })

  it('counts jobs that were created although the answer was lost', async () => {
    const line = await Line.to(await postgresUrl())
    const far = await openStore({ schema, url: line.url(await postgresUrl()) })
    await far.enqueue([job({ runAt: { delayMs: 3_600_000 } })])
    const all = jobs(5, { runAt: { delayMs: 3_600_000 } })
    line.loseAnswers()
    await expect(far.enqueue(all)).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    await far.enqueue([...all, job()])
    expect(await counts()).toEqual({ enqueued: 7 })
    await expectBalance(store)
    await far.close()
    line.close()
  })

  it("in a caller's transaction counts only if that commits", async () => {
    await client.query('BEGIN')
    await store.enqueue(jobs(2), client)
    await store.enqueue([job({ key: 'k', payloadHash: 'h' })], client)
    await store.enqueue(jobs(4))
    expect(await counts(), 'the open transaction holds up no fold').toEqual({ enqueued: 4 })
    await expectBalance(store)
    await client.query('COMMIT')
    expect(await counts()).toEqual({ enqueued: 7 })
    await client.query('BEGIN')
    await store.enqueue(jobs(2), client)
    await client.query('ROLLBACK')
    expect(await counts()).toEqual({ enqueued: 7 })
    await expectBalance(store)
  })
})

describe('settle', () => {
  const GROUP = { fingerprint: 'f1', title: 'no <thing>' }

  const failed = (claimed: Claimed): Settlement => {
    const { end, ...rest } = settlement(claimed, 'failed')
    return { ...rest, end: { ...(end as Extract<Settlement['end'], { kind: 'ended' }>), group: GROUP } }
  }

  async function group(): Promise<ErrorGroup> {
    await foldAll(store)
    const [record] = await store.records(ERROR_GROUP, { ids: [GROUP.fingerprint] })
    return JSON.parse(record!.body) as ErrorGroup
  }

  it('counts settled runs, but no run that was already settled or lost', async () => {
    await store.enqueue(jobs(6))
    const { jobs: claimed } = await store.claim(request())
    const ends = claimed.map((one, index) => (index < 4 ? failed(one) : settlement(one)))
    await store.settle(ends.slice(2, 4))
    const forged = { ...ends[5]!, lease: { ...ends[5]!.lease, token: 'f'.repeat(32) } }
    await store.settle([...ends.slice(0, 5), forged])
    await store.settle(ends.slice(0, 5))
    const sum = await counts()
    expect(sum).toMatchObject({ 'run:failed': 4, 'run:succeeded': 1, first: 5, 'end:succeeded': 1, ms: 25 })
    expect(await group()).toMatchObject({ title: 'no <thing>', failures: 4, dead: 0, names: ['send-mail'] })
  })

  it('counts a job that is cancelled instead of retried', async () => {
    await store.enqueue(jobs(2))
    const { jobs: claimed } = await store.claim(request())
    await store.change([claimed[0]!.id], cancel)
    await store.settle(claimed.map(failed))
    expect(await counts()).toMatchObject({ 'run:failed': 2, 'end:cancelled': 1 })
    expect(await group()).toMatchObject({ failures: 2, dead: 0, error: 'Error', title: 'no <thing>' })
  })

  it('counts a job that was handed back and cancelled, but not one that was only handed back', async () => {
    await store.enqueue(jobs(2))
    const { jobs: claimed } = await store.claim(request())
    await store.change([claimed[0]!.id], cancel)
    await store.settle(claimed.map(one => ({ ...settlement(one), end: { kind: 'handed-back', delayMs: 0 } })))
    expect(await counts()).toEqual({ enqueued: 2, 'end:cancelled': 1 })
    await expectBalance(store)
  })

  it('counts a job that dies without an error in the group of its last error', async () => {
    await store.enqueue(jobs(1))
    await store.settle((await store.claim(request())).jobs.map(failed))
    const [claimed] = (await store.claim(request())).jobs
    const { end, ...rest } = settlement(claimed!, 'failed')
    const { error: _error, transition } = end as Extract<Settlement['end'], { kind: 'ended' }>
    const dead = { ...transition, status: 'lost', to: 'dead', reason: 'poison' } as const
    await store.settle([{ ...rest, end: { kind: 'ended', transition: dead } }])
    expect(await group()).toMatchObject({ failures: 1, dead: 1 })
    expect(await store.list({ fingerprint: 'f1', state: 'dead' }, { limit: 5 })).toMatchObject({ data: [{}] })
  })

  it('counts a run and the jobs it created once, even if it is repeated', async () => {
    await store.enqueue(jobs(2))
    const { jobs: claimed } = await store.claim(request())
    const ends = claimed.map(one => {
      const { end, ...rest } = settlement(one)
      return { ...rest, end: { ...end, spawn: [job({ queue: 'deliveries' })] } as Settlement['end'] }
    })
    await store.settle(ends.slice(0, 1))
    await store.settle(ends)
    expect(await counts('deliveries send-mail')).toEqual({ enqueued: 2 })
    await expectBalance(store)
  })
})

describe('fold', () => {
  it("changes nothing if it can't finish", async () => {
    await store.enqueue(jobs(3))
    await client.query(`BEGIN; LOCK TABLE ${schema}.records IN SHARE MODE`)
    const impatient = await openStore({ schema, statementMs: 100 })
    await expect(impatient.fold(10)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await client.query('COMMIT')
    await impatient.close()
    expect(await counts()).toEqual({ enqueued: 3 })
  })

  it('does nothing while another process folds', async () => {
    await store.enqueue(jobs(3))
    const name = `chronos fold ${schema}`
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
    expect(await store.fold(10)).toBe(0)
    expect(await unfolded()).toBe(1)
    await client.query('COMMIT')
    expect(await store.fold(10)).toBe(1)
  })

  it('stores a group whose fingerprint and tenant are too long for an index', async () => {
    const long = { fingerprint: '指'.repeat(1024), tenantId: '租'.repeat(1024), dependency: '門'.repeat(1024) }
    await store.enqueue([job(long), job({ ...long, fingerprint: `${long.fingerprint}!` })])
    const { jobs: claimed } = await store.claim(request({ limit: 1 }))
    const { end, ...rest } = settlement(claimed[0]!, 'failed')
    const group = { fingerprint: long.fingerprint, title: 'long' }
    await store.settle([{ ...rest, tenantId: long.tenantId, end: { ...end, group } as Settlement['end'] }])
    await foldAll(store)
    const records = await store.records(ERROR_GROUP, { limit: 10 })
    expect(records.map(({ id }) => id)).toEqual([`${long.fingerprint}@${long.tenantId}`])
    const again = await store.records(ERROR_GROUP, { ids: [records[0]!.id] })
    expect(again).toEqual(records)
    expect(await store.putRecords([{ ...records[0]!, body: '{}', expect: 1 }])).toEqual([
      { status: 'written', version: 2 },
    ])
    expect(await store.count({ fingerprint: long.fingerprint }, 5)).toMatchObject({ value: 1 })
    expect(
      await store.defer({ dependency: long.dependency, from: { dueWithinMs: 0 }, delaysMs: [5, 5], pass: 1 }),
    ).toEqual({
      moved: 2,
    })
  })
})

describe('the integrity check', () => {
  it('balances at every moment during concurrent operations', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => openStore({ schema })))
    let busy = true
    const work = Promise.all(stores.map(live)).finally(() => {
      busy = false
    })
    let audits = 0
    while (busy) {
      await expectBalance(store)
      audits++
    }
    await work
    expect(audits).toBeGreaterThan(3)
    await foldAll(store)
    await expectBalance(store)
    expect(await counts()).toMatchObject({ enqueued: 3 * 20 * 15 })
    await Promise.all(stores.map(one => one.close()))
  })

  async function live(one: PostgresStore): Promise<void> {
    for (let round = 0; round < 20; round++) {
      const all = jobs(15)
      await one.enqueue(all)
      await one.enqueue(all.slice(0, 5))
      const { jobs: claimed } = await one.claim(request({ limit: 12 }))
      await one.change(
        all.slice(0, 2).map(({ id }) => id),
        cancel,
      )
      const ends = claimed.map((each, index) => settlement(each, index % 3 === 0 ? 'failed' : 'succeeded'))
      await Promise.all([one.settle(ends), one.settle(ends.slice(0, 6)), one.fold(5)])
      await one.remove([all[2]!.id])
      await one.prune({ olderThanMs: { succeeded: 0, cancelled: 0 }, keyMs: 0, limit: 10 })
    }
  }

  it('neither waits for other transactions nor blocks them', async () => {
    await store.enqueue(jobs(10))
    await client.query(`BEGIN; SELECT * FROM ${schema}.jobs FOR UPDATE`)
    await expectBalance(store)
    await client.query('COMMIT')
  })
})
