import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { QueueLimits } from '../../../../src/core/partition/limits.js'
import {
  DELETE_PARTITIONS,
  FIND_CANDIDATES,
  LOCK_PARTITIONS,
  READ_PARTITIONS,
  READ_QUEUES,
  TAKE_NOTES,
  WRITE_PARTITIONS,
} from '../../../../src/store/postgres/lanes/statements.js'
import { MIGRATIONS } from '../../../../src/store/postgres/migrations.js'
import type { Store } from '../../../../src/store/store.js'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { expectBalance, job, jobs, request, settlement } from '../bench.js'

afterAll(dropSchemas)

let schema: string
let store: Store
let other: Store

beforeEach(async () => {
  schema = freshSchema()
  store = await openStore({ schema })
  other = await openStore({ schema })
})

afterEach(() => Promise.all([store.close(), other.close()]))

const setLimits = (limits: Omit<QueueLimits, 'from'> | null, on: Store = store) =>
  on.setQueue('default', { limits: limits && { ...limits, from: 'operator' } })
const claimed = async (from: Store = store) => (await from.claim(request())).jobs

/** Resolves with the next notification. */
function notified(one: Store): { readonly ready: Promise<void>; readonly next: () => Promise<void> } {
  const waiting: (() => void)[] = []
  const next = () => new Promise<void>(resolve => waiting.push(resolve))
  const ready = next()
  one.watch(() => {
    for (const resolve of waiting.splice(0)) resolve()
  })
  return { ready, next }
}

describe('removing limits', () => {
  beforeEach(() => store.migrate())

  it('strands no job: waiting ones, retries, and those of processes that do not know it yet', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await other.enqueue(jobs(3, { partition: 'a' }))
    const [running] = await claimed()
    await setLimits(null)
    await other.enqueue([job({ partition: 'a' })])
    const inLane = await sql(`SELECT 1 FROM ${schema}.jobs WHERE state = 'waiting' AND lane IS NOT NULL`)
    expect(inLane, 'the other process still gives lanes').toHaveLength(3)
    const rest = await claimed()
    expect(rest).toHaveLength(3)
    await store.settle([settlement(running!, 'failed')])
    const [again] = await claimed()
    expect(again?.id).toBe(running!.id)
    await store.settle([...rest, again!].map(each => settlement(each)))
    // The first claim finds the last notes, the next one nothing.
    for (let round = 0; round < 2; round++) expect(await claimed()).toEqual([])
    const [queue] = await sql<{ laned: boolean }>(`SELECT laned FROM ${schema}.queues`)
    expect(queue).toEqual({ laned: false })
    expect(await sql(`SELECT 1 FROM ${schema}.partitions`)).toEqual([])
    await other.enqueue([job({ partition: 'late', runAt: { delayMs: 0 } })])
    expect((await claimed()).map(({ lane }) => lane)).toEqual(['late'])
    await expectBalance(store)
  })

  it('with the queue removes its partitions and notes', async () => {
    await setLimits({ partitions: { rate: '1/h' } })
    await store.enqueue([job({ partition: 'a' })])
    expect(await store.removeQueues(['default'], 'any')).toEqual([])
    await store.settle((await claimed()).map(each => settlement(each)))
    expect(await store.removeQueues(['default'], 'unset')).toEqual([])
    expect(await store.removeQueues(['default'], 'any')).toEqual(['default'])
    const left = await sql(`SELECT 1 FROM ${schema}.partitions UNION ALL SELECT 1 FROM ${schema}.partition_notes`)
    expect(left).toEqual([])
  })
})

describe('other processes', () => {
  beforeEach(() => store.migrate())

  it('are notified when a slot becomes free', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await store.enqueue(jobs(2, { partition: 'a' }))
    const [running] = await claimed()
    const heard = notified(other)
    await heard.ready
    const next = heard.next()
    await store.settle([settlement(running!)])
    await next
    expect(await claimed(other)).toHaveLength(1)
  })

  it('are notified when limits change', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await store.enqueue(jobs(3, { partition: 'a' }))
    await claimed()
    const heard = notified(other)
    await heard.ready
    const next = heard.next()
    await setLimits({ partitions: { concurrency: 2 } })
    await next
    expect(await claimed(other)).toHaveLength(1)
  })
})

describe('limits of a queue', () => {
  beforeEach(() => store.migrate())

  it('that are set again without a change keep what the queue has spent', async () => {
    const limits = { limit: { rate: '1/h', burst: 1 } } as const
    await setLimits(limits)
    await store.enqueue(jobs(2))
    expect(await claimed()).toHaveLength(1)
    await setLimits(limits)
    expect(await claimed()).toEqual([])
  })
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly Plan[]
}

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

interface Explained {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Runs the statements in one transaction, and returns the steps of their plans: those of the store's prepared statements. */
async function explained(first: Explained, statements: readonly Explained[]): Promise<readonly Plan[]> {
  const client = new pg.Client(await postgresUrl())
  await client.connect()
  const fill = (statement: string) => statement.replaceAll(/@(?=[a-z])/g, `${schema}.`)
  await client.query('BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off')
  await client.query(fill(first.text), [...first.values])
  const nodes: Plan[] = []
  for (const { text, values } of statements) {
    const { rows } = await client.query<{ plan: readonly [{ readonly Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${fill(text)}`,
      [...values],
    )
    nodes.push(...nodesOf(Object.values(rows[0]!)[0]![0].Plan))
  }
  await client.end()
  return nodes
}

describe('a claim', () => {
  beforeEach(() => store.migrate())

  it('reads only the first jobs of each partition, by index, whatever the backlog of one', async () => {
    await setLimits({ partitions: { concurrency: 3 } })
    await store.enqueue([...jobs(5_000, { partition: 'big' }), ...jobs(3, { partition: 'small' })])
    const nodes = await explained({ text: LOCK_PARTITIONS, values: ['{default}', '{8}', false, 'token'] }, [
      { text: TAKE_NOTES, values: [] },
      { text: READ_QUEUES, values: ['{default}', false, 'token'] },
      { text: READ_PARTITIONS, values: [] },
      { text: FIND_CANDIDATES, values: [8, 0] },
    ])
    expect(nodes.filter(node => node['Node Type'] === 'Seq Scan')).toEqual([])
    const read = nodes.filter(node => node['Relation Name'] === 'jobs' && node['Actual Loops'] > 0)
    const rows = read.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0)
    // Five of the big partition, and all of the small one.
    expect(rows).toBe(5 + 3)
  })

  it('does not read notes again that earlier claims have taken', async () => {
    await setLimits({ partitions: { concurrency: 1 } })
    await sql(`
      INSERT INTO ${schema}.partition_notes (queue, name, at)
      SELECT 'default', 'p' || n % 20, 0 FROM generate_series(1, 5000) AS n`)
    await sql(`ANALYZE ${schema}.partition_notes`)
    const lock = { text: LOCK_PARTITIONS, values: ['{default}', '{8}', false, 'token'] }
    const nodes = await explained(lock, [{ text: TAKE_NOTES, values: [] }])
    const read = nodes.filter(
      node => node['Relation Name'] === 'partition_notes' && node['Node Type'] !== 'ModifyTable',
    )
    expect(read.map(node => node['Node Type'])).toEqual(['Index Scan', 'Tid Scan'])
  })

  it('finds the row of each of many partitions without comparing it with the names of all of them', async () => {
    const names = Array.from({ length: 200 }, (_, n) => `p${n}`)
    const listOf = (values: readonly (string | number)[]) => `{${values.join(',')}}`
    const keys = [listOf(names.map(() => 'default')), listOf(names)]
    const times = listOf(names.map(() => 7))
    await sql(
      `INSERT INTO ${schema}.partitions (queue, name) SELECT 'default', 'p' || n FROM generate_series(0, 200) AS n`,
    )
    const nodes = await explained({ text: 'SELECT 1', values: [] }, [
      { text: WRITE_PARTITIONS, values: [...keys, times, times, listOf(names.map(() => 'NULL'))] },
      { text: DELETE_PARTITIONS, values: keys },
    ])
    expect(nodes.filter(node => node['Node Type'] === 'Seq Scan')).toEqual([])
    expect(nodes.filter(node => (node['Rows Removed by Join Filter'] ?? 0) > 0)).toEqual([])
    const found = nodes.filter(node => node['Relation Name'] === 'partitions' && node['Node Type'] === 'Index Scan')
    expect(found.map(node => node['Actual Loops'])).toEqual([200, 200])
  })
})

describe('migrate', () => {
  it('keeps waiting and running jobs, to which limits then apply', async () => {
    const fill = (text: string) => text.replaceAll(/@(?=[a-z])/g, `${schema}.`)
    await sql(`CREATE SCHEMA ${schema}`)
    await sql(`CREATE TABLE ${schema}.migrations (version integer PRIMARY KEY, applied_at bigint NOT NULL)`)
    for (const [index, text] of MIGRATIONS.slice(0, 7).entries()) {
      await sql(`BEGIN; ${fill(text)}; COMMIT`)
      await sql(`INSERT INTO ${schema}.migrations VALUES (${index + 1}, 0)`)
    }
    await sql(`
      INSERT INTO ${schema}.jobs (id, name, queue, priority, state, run_at, created_at, payload, tenant_id, run, attempt,
        token, worker_id, lease_until, lease_ms, started_at)
      SELECT ('01890000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'send-mail', 'default', 5,
        CASE n WHEN 1 THEN 'running' ELSE 'waiting' END, 0, 0, '{}', 't', n % 2, n % 2,
        CASE n WHEN 1 THEN 'token' END, 'worker-1', 4e12, 30000, 0
      FROM generate_series(1, 6) AS n`)
    expect(await store.migrate()).toEqual({ from: 7, to: MIGRATIONS.length })
    await setLimits({ partitions: { concurrency: 2 } })
    const started = await claimed()
    expect(started.map(({ lane }) => lane)).toEqual(['t', 't'])
    const running = { ...started[0]!, id: '01890000-0000-7000-8000-000000000001', token: 'token' }
    const { lane: _, ...old } = settlement(running, 'failed')
    expect(await store.settle([old])).toMatchObject([{ status: 'settled', state: 'waiting' }])
    expect(await claimed()).toEqual([])
    await store.settle(started.map(each => settlement(each)))
    expect(await claimed()).toHaveLength(2)
    expect((await store.census({ queues: ['default'], cap: 100 }))[0]).toMatchObject({
      running: { value: 2 },
      blocked: { value: 2 },
    })
  })
})
