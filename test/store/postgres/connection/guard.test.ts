import { afterAll, describe, expect, it } from 'vitest'
import { dropSchemas, openStore, postgresUrl } from '../../../support/postgres.js'
import { block, blockUntilRenewed } from '../../guarded.js'
import { job, request } from '../bench.js'

afterAll(dropSchemas)

describe('guard', () => {
  it('renews the leases of a worker whose thread is blocked, and no others', async () => {
    const store = await openStore()
    await store.migrate()
    await store.enqueue([job(), job()])
    const guard = store.guard!({ workerId: 'worker-1', leaseMs: 1000, stuckAfterMs: 60_000 })
    const [mine] = (await store.claim(request({ limit: 1, leaseMs: 1 }))).jobs
    const [other] = (await store.claim(request({ limit: 1, leaseMs: 1, workerId: 'worker-2' }))).jobs
    const leaseOf = async ({ id } = mine!) => (await store.get(id))!.leaseUntil!
    const before = [await leaseOf(mine), await leaseOf(other)] as const
    guard.beat()
    blockUntilRenewed(guard)
    expect(await leaseOf(mine)).toBeGreaterThan(before[0])
    expect(await leaseOf(other)).toBe(before[1])
    expect((await store.expired({ workers: 10 })).jobs.map(({ id }) => id)).toContain(other!.id)
    expect(guard.keptUntil()).toBeGreaterThan(before[0])
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
