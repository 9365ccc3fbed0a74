import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { redrive } from '../../../src/core/job/changes.js'
import { SCHEMA_VERSION } from '../../../src/store/sqlite/migrations.js'
import type { Claimed, Store } from '../../../src/store/store.js'
import { Bench, died, succeeded, TestClock, uuid } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())
const VERSION_1 = readFileSync(new URL('version-1.sql', import.meta.url), 'utf8')

describe('a file of version 1', () => {
  let clock: TestClock
  let store: Store

  beforeEach(async () => {
    const database = await folder.database()
    database.exec(VERSION_1)
    database.close()
    clock = new TestClock()
    clock.advance(1000)
    store = folder.store({ clock })
  })

  it('is migrated once', async () => {
    expect(await store.migrate()).toEqual({ from: 1, to: SCHEMA_VERSION })
    expect(await folder.store().migrate()).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION })
  })

  it('keeps its jobs unchanged, without values for new fields', async () => {
    const { data } = await store.list({}, { limit: 100, order: 'oldest' })
    expect(data.map(({ queue, state, generation, run }) => [queue, state, generation, run])).toEqual([
      ['default', 'succeeded', 1, 1],
      ['default', 'dead', 1, 1],
      ['strange\u0000queue', 'cancelled', 1, 1],
      ['default', 'waiting', 1, 1],
      ['default', 'waiting', 2, 1],
      ['default', 'running', 1, 1],
      ['mail', 'waiting', 1, 0],
    ])
    for (const job of data) {
      const { dependency, pass, fingerprint, acknowledgedAt, redriveId } = job
      expect({ dependency, pass, fingerprint, acknowledgedAt, redriveId }).toEqual({})
    }
    expect(data[0]).toMatchObject({ result: '{"ok":true}', tags: ['a', 'b'], tenantId: 't1', key: 'k1' })
    expect(data[1]).toMatchObject({ reason: 'exhausted', error: { message: 'boom' }, payload: /^"long long/ })
    expect(data[6]).toMatchObject({ deadline: Date.UTC(2026, 0, 3) + 42 })
    expect((await store.history(data[0]!.id, { limit: 5 })).data).toMatchObject([{ run: 1, status: 'succeeded' }])
    const [attempt] = (await store.history(data[3]!.id, { limit: 5 })).data
    expect(attempt).toMatchObject({ status: 'failed', delayMs: 60_000, error: { code: 'ECONNRESET' } })
    expect(attempt).not.toHaveProperty('fingerprint')
  })

  it('has a ledger that balances with the existing rows', async () => {
    const before = await store.audit()
    expect(before.findings).toEqual([])
    expect(before.queues.map(({ queue, ledger }) => [queue, ledger.enqueued, ledger.removed])).toEqual([
      ['default', 5, 0],
      ['mail', 1, 0],
      ['strange\u0000queue', 1, 0],
    ])
    for (const { ledger, idSum } of before.queues) expect(ledger.idSum).toBe(idSum)
    expect(await store.fold(10)).toBe(1)
    expect(await store.audit()).toEqual(before)
    expect(await store.records('counts', { limit: 10 })).toEqual([])
  })

  it('continues with its running, waiting and dead jobs', async () => {
    const running = {
      ...(await store.get(uuid(6)))!,
      ...{ token: '6'.padStart(32, '0'), workerId: 'worker-1', leaseUntil: 0 },
    } as Claimed
    expect(await store.settle([bench.settlement(running, succeeded())])).toMatchObject([{ state: 'succeeded' }])
    expect(await store.change([uuid(2)], redrive({ redriveId: 'r1' }))).toMatchObject([{ status: 'changed' }])
    clock.advance(60_000)
    const { jobs } = await store.claim(bench.request())
    expect(jobs.map(({ id }) => id)).toEqual([uuid(2), uuid(4)])
    const group = { fingerprint: 'f1', title: 'boom' }
    await store.settle(jobs.map(job => bench.settlement(job, { ...died(), group })))
    expect(await store.count({ state: 'dead', fingerprint: 'f1' }, 10)).toMatchObject({ value: 2 })
    await store.remove([uuid(1), uuid(2)])
    const { queues, findings } = await store.audit()
    expect(findings).toEqual([])
    expect(queues[0]).toMatchObject({ ledger: { enqueued: 5, removed: 2, idSum: queues[0]!.idSum } })
  })

  it('can get limits, which count its running job', async () => {
    await store.setQueue('default', { limits: { limit: { concurrency: 2 }, from: 'operator' } })
    clock.advance(60_000)
    expect((await store.claim(bench.request())).jobs).toHaveLength(1)
    expect((await store.claim(bench.request())).jobs).toEqual([])
    const partitions = await store.partitions!('default', { limit: 10, cap: 10 })
    expect(partitions.reduce((sum, { running }) => sum + running, 0)).toBe(2)
  })
})

it('a file without jobs gets an empty ledger', async () => {
  const database = await folder.database()
  database.exec(VERSION_1.replaceAll(/^INSERT INTO (?!migrations)[^;]*;$/gm, ''))
  database.close()
  const store = folder.store()
  expect(await store.migrate()).toEqual({ from: 1, to: SCHEMA_VERSION })
  expect(await store.fold(10)).toBe(0)
  expect(await store.audit()).toMatchObject({ queues: [], findings: [] })
})
