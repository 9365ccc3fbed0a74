import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SCHEMA_VERSION } from '../../../src/store/sqlite/migrations.js'
import type { Store } from '../../../src/store/store.js'
import { Bench, died, leaseOf, succeeded, TestClock } from '../conformance/bench.js'
import { block, blockUntilRenewed } from '../guarded.js'
import { Folder, turns } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())

/** For SQLite, several stores on one file are like several processes: each has its own connection. */
const stores = (count: number): Store[] => Array.from({ length: count }, () => folder.store())

describe('several stores on one file', () => {
  it('can migrate it concurrently, and one of them does it', async () => {
    const migrations = await Promise.all(stores(10).map(store => store.migrate()))
    expect(migrations.filter(({ from }) => from === 0).length).toBeGreaterThanOrEqual(1)
    expect(migrations.every(({ to }) => to === SCHEMA_VERSION)).toBe(true)
    const database = await folder.database()
    expect(database.prepare('SELECT count(*) AS count FROM migrations').get()).toMatchObject({ count: SCHEMA_VERSION })
  })

  it('see the jobs of each other', async () => {
    const [one, two] = stores(2)
    const [answer] = await one!.enqueue([bench.job()])
    expect(await two!.get(answer!.id)).toMatchObject({ state: 'waiting' })
  })

  it('never claim the same job', async () => {
    const all = stores(4)
    await all[0]!.enqueue(Array.from({ length: 400 }, () => bench.job()))
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        all[index % 4]!.claim(bench.request({ limit: 10, workerId: `w${index % 4}` })),
      ),
    )
    const taken = claims.flatMap(({ jobs }) => jobs.map(({ id }) => id))
    expect(taken).toHaveLength(400)
    expect(new Set(taken).size).toBe(400)
  })

  it('have one winner for a key', async () => {
    const keyed = { key: 'k', payloadHash: 'h' }
    const answers = await Promise.all(stores(6).map(async store => (await store.enqueue([bench.job(keyed)]))[0]!))
    expect(answers.filter(({ status }) => status === 'created')).toHaveLength(1)
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  })

  it('have one winner for a `unique` value', async () => {
    const answers = await Promise.all(stores(6).map(store => store.enqueue([bench.job({ unique: 'u' })])))
    expect(answers.flat().filter(({ status }) => status === 'created')).toHaveLength(1)
  })

  it('fold every delta once, and balance at every moment', async () => {
    const all = stores(4)
    const work = all.map(async (store, index) => {
      for (let round = 0; round < 5; round++) {
        await store.enqueue(Array.from({ length: 4 }, () => bench.job()))
        const { jobs } = await store.claim(bench.request({ limit: 3, workerId: `w${index}` }))
        await store.settle(jobs.map(job => bench.settlement(job, succeeded())))
        await store.fold(2)
        const { queues, findings } = await store.audit()
        expect(findings).toEqual([])
        for (const { ledger, idSum } of queues) expect(ledger.idSum).toBe(idSum)
      }
    })
    await Promise.all(work)
    while ((await all[0]!.fold(100)) > 0);
    const [ledger] = await all[1]!.records('ledger', { ids: ['default'] })
    expect(JSON.parse(ledger!.body)).toMatchObject({ enqueued: 80, removed: 0 })
  })

  it('have one winner for a version of a record', async () => {
    const all = stores(4)
    await all[0]!.putRecords([{ kind: 'k', id: 'a', body: '0' }])
    const answers = await Promise.all(
      all.map((store, index) => store.putRecords([{ kind: 'k', id: 'a', body: `${index + 1}`, expect: 1 }])),
    )
    expect(answers.flat().filter(({ status }) => status === 'written')).toHaveLength(1)
  })

  it('settle a job that another store claimed, once', async () => {
    const [one, two, three] = stores(3)
    await one!.enqueue([bench.job()])
    const { jobs } = await one!.claim(bench.request())
    const settlement = bench.settlement(jobs[0]!, succeeded())
    const answers = await Promise.all([two!, three!].map(store => store.settle([settlement])))
    expect(
      answers
        .flat()
        .map(({ status }) => status)
        .sort(),
    ).toEqual(['already', 'settled'])
  })

  it('do not confuse a new job with a removed job that had the same row key', async () => {
    const [one, two] = stores(2)
    await one!.enqueue([bench.job()])
    const [old] = (await one!.claim(bench.request())).jobs
    await two!.settle([bench.settlement(old!, died())])
    await two!.remove([old!.id])
    await two!.enqueue([bench.job()])
    const [fresh] = (await two!.claim(bench.request({ workerId: 'other' }))).jobs
    expect(await one!.settle([bench.settlement(old!, succeeded())])).toEqual([{ status: 'lost' }])
    expect(await two!.get(fresh!.id)).toMatchObject({ state: 'running' })
  })

  it('see when another store pauses a queue', async () => {
    const [one, two] = stores(2)
    await one!.enqueue([bench.job()])
    await one!.setQueue('default', { paused: true })
    expect((await two!.claim(bench.request())).jobs).toEqual([])
  })
})

describe('a file that another process has locked', () => {
  async function locked() {
    const clock = new TestClock()
    const store = folder.store({ clock })
    await store.migrate()
    const other = await folder.database()
    other.exec('BEGIN IMMEDIATE')
    /** Advances virtual time by a few ms per turn of the event loop. */
    const wait = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        clock.advance(50)
        await turns(3)
      }
    }
    return { clock, store, other, wait }
  }

  it('does not block the event loop', async () => {
    const { store, other, wait } = await locked()
    let answered = false
    const answer = store.enqueue([bench.job()]).finally(() => {
      answered = true
    })
    await wait(2000)
    expect(answered).toBe(false)
    expect(await store.count({}, 1)).toMatchObject({ value: 0 })
    other.exec('COMMIT')
    await wait(100)
    expect(await answer).toMatchObject([{ status: 'created' }])
  })

  it('fails a write after ten seconds without doing anything, and the next call tries again', async () => {
    const { store, other, wait } = await locked()
    const answer = store.enqueue([bench.job()]).catch(error => error)
    await wait(10_100)
    expect(await answer).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(folder.file()) })
    other.exec('COMMIT')
    expect(await store.count({}, 1)).toMatchObject({ value: 0 })
    expect(await store.enqueue([bench.job()])).toMatchObject([{ status: 'created' }])
  })

  it('keeps the order of the writes that wait for it', async () => {
    const { store, other, wait } = await locked()
    const [first, second] = [bench.job(), bench.job()]
    const answers = [store.enqueue([first]), store.enqueue([second]), store.claim(bench.request({ limit: 1 }))] as const
    await wait(500)
    other.exec('COMMIT')
    await wait(100)
    expect((await answers[2]).jobs.map(({ id }) => id)).toEqual([first.id])
  })
})

describe('watch', () => {
  const heard = (store: Store) => {
    let stop: () => void = () => undefined
    const change = new Promise<void>(resolve => {
      stop = store.watch(resolve)
    })
    return { change, stop: () => stop() }
  }

  it('reports the work of another store', async () => {
    const [one, two] = stores(2)
    await one!.migrate()
    await two!.migrate()
    const { change, stop } = heard(one!)
    await two!.enqueue([bench.job()])
    await expect(change).resolves.toBeUndefined()
    stop()
  })

  it('reports every commit', async () => {
    const [one, two] = stores(2)
    await one!.migrate()
    for (let round = 0; round < 3; round++) {
      const { change, stop } = heard(one!)
      await two!.enqueue([bench.job()])
      await expect(change).resolves.toBeUndefined()
      stop()
    }
  })

  it('does not report its own work', async () => {
    const [one, two] = stores(2)
    await one!.migrate()
    await two!.migrate()
    let calls = 0
    const stop = one!.watch(() => {
      calls += 1
    })
    const other = heard(two!)
    for (let count = 0; count < 20; count++) await one!.enqueue([bench.job()])
    await other.change
    await turns(20)
    expect(calls).toBe(0)
    stop()
    other.stop()
  })

  it('never calls back for a database in memory', async () => {
    const store = folder.store({ path: ':memory:' })
    let calls = 0
    const stop = store.watch(() => {
      calls += 1
    })
    await store.migrate()
    await store.enqueue([bench.job()])
    await turns(20)
    expect(calls).toBe(0)
    expect(stop()).toBeUndefined()
  })

  it('neither throws nor creates anything if the directory is missing', async () => {
    const directory = folder.file('missing')
    let calls = 0
    const stop = folder.store({ path: join(directory, 'chronos.db') }).watch(() => {
      calls += 1
    })
    await turns(20)
    expect([calls, existsSync(directory)]).toEqual([0, false])
    stop()
  })
})

describe('guard', () => {
  const LEASE_MS = 600

  it('renews the leases of a worker whose thread is blocked, until it counts as stuck', async () => {
    const store = folder.store()
    await store.migrate()
    await store.enqueue([bench.job(), bench.job()])
    const mine = (await store.claim(bench.request({ leaseMs: 1, limit: 1 }))).jobs
    const others = (await store.claim(bench.request({ leaseMs: 1, limit: 1, workerId: 'other' }))).jobs
    const leases = () => Promise.all([...mine, ...others].map(async ({ id }) => (await store.get(id))!.leaseUntil!))
    const before = await leases()
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: LEASE_MS, stuckAfterMs: 60_000 })
    guard.beat()
    // The guard's thread starts while this thread is blocked; the other worker has no guard.
    blockUntilRenewed(guard)
    expect(await leases()).toEqual([expect.toSatisfy(lease => lease > before[0]!), before[1]])
    expect((await store.expired({ workers: 9 })).jobs).toContainEqual(
      expect.objectContaining({ id: others[0]!.id, alone: true }),
    )
    expect(await store.extend(mine.map(leaseOf), LEASE_MS)).toEqual(['held'])
    expect(guard.keptUntil()).toBeGreaterThan(before[0]!)
    await guard.stop()
    block(LEASE_MS + 50)
    expect((await store.expired({ workers: 9 })).jobs.map(({ id }) => id)).toContain(mine[0]!.id)
  })

  it('stops renewing for a thread that is stuck', async () => {
    const store = folder.store()
    await store.migrate()
    await store.enqueue([bench.job()])
    const [job] = (await store.claim(bench.request({ leaseMs: LEASE_MS }))).jobs
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: LEASE_MS, stuckAfterMs: LEASE_MS })
    guard.beat()
    // Its thread may start late, and then counts from its start.
    await expect.poll(async () => (await store.expired({ workers: 9 })).jobs).toMatchObject([{ id: job!.id }])
    await guard.stop()
  })

  it('renews nothing while it is at rest', async () => {
    const store = folder.store()
    await store.migrate()
    await store.enqueue([bench.job()])
    const [job] = (await store.claim(bench.request({ leaseMs: LEASE_MS }))).jobs
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: LEASE_MS, stuckAfterMs: 60_000 })
    guard.beat()
    guard.rest()
    block(LEASE_MS * 2)
    expect((await store.expired({ workers: 9 })).jobs).toMatchObject([{ id: job!.id }])
    expect(guard.keptUntil()).toBe(0)
    await guard.stop()
  })

  it('is absent for a database in memory', () => {
    expect(folder.store({ path: ':memory:' }).guard).toBeUndefined()
  })

  it('stops at once if the store was never used, and leaves no file and no thread behind', async () => {
    const store = folder.store()
    const guard = store.guard!({ workerId: 'w', leaseMs: 1000, stuckAfterMs: 1000 })
    guard.beat()
    await guard.stop()
    expect([guard.keptUntil(), existsSync(folder.file())]).toEqual([0, false])
    await store.migrate()
    await store.enqueue([bench.job()])
    expect(await store.count({}, 5)).toEqual({ value: 1, relation: 'exact' })
  })
})
