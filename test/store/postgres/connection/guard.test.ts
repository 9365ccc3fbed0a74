import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/engine/time/system.js'
import { dropSchemas, openStore, postgresUrl } from '../../../support/postgres.js'
import { job, request } from '../bench.js'

afterAll(dropSchemas)

/** Blocks this thread. */
function block(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe('guard', () => {
  it('renews the leases of a worker whose thread is blocked, and no others', async () => {
    const store = await openStore()
    await store.migrate()
    await store.enqueue([job({ name: 'mine' }), job({ name: 'other' })])
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: 1000, stuckAfterMs: 60_000 })
    await store.claim(request({ limit: 1, leaseMs: 1000 }))
    await store.claim(request({ limit: 1, leaseMs: 1000, workerId: 'worker-2' }))
    guard.beat()
    block(3000)
    const { jobs } = await store.expired({ workers: 10 })
    expect(jobs).toMatchObject([{ name: 'other' }])
    expect(guard.keptUntil()).toBeGreaterThan(systemClock.now())
    await guard.stop()
    await store.close()
  })

  it('does not renew the leases of a thread that counts as stuck', async () => {
    const store = await openStore()
    await store.migrate()
    await store.enqueue([job()])
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: 1000, stuckAfterMs: 100 })
    await store.claim(request({ limit: 1, leaseMs: 1000 }))
    guard.beat()
    block(2000)
    expect((await store.expired({ workers: 10 })).jobs).toHaveLength(1)
    await guard.stop()
    await store.close()
  })

  it('renews nothing for a worker without leases', async () => {
    const store = await openStore()
    await store.migrate()
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: 1000, stuckAfterMs: 60_000 })
    guard.beat()
    guard.rest()
    block(1500)
    expect(guard.keptUntil()).toBe(0)
    await guard.stop()
    await store.close()
  })

  it("renews nothing if the settings can't be sent to a thread", async () => {
    const url = new URL(await postgresUrl())
    const password = () => decodeURIComponent(url.password)
    const place = { host: url.hostname, port: url.port, user: url.username, database: url.pathname.slice(1) }
    const store = await openStore({ connection: { ...place, password } })
    await store.migrate()
    await store.enqueue([job()])
    await store.claim(request({ limit: 1, leaseMs: 200 }))
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: 200, stuckAfterMs: 60_000 })
    guard.beat()
    block(600)
    // No thread renews the lease, and the store still works.
    expect(guard.keptUntil()).toBe(0)
    expect((await store.expired({ workers: 10 })).jobs).toHaveLength(1)
    await guard.stop()
    await store.close()
  })
})
