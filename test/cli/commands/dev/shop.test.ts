import { describe, expect, it } from 'vitest'
import { Demo } from '../../../../src/cli/commands/dev/demo/demo.js'
import { Chronos } from '../../../../src/engine/client/chronos.js'
import { memoryStore } from '../../../../src/store/memory.js'
import { seededDice, VirtualClock } from '../../../../src/testing.js'

/** Runs the demo shop in virtual time. HTTP calls fail, because no server listens on that port. */
async function night(minutes: number): Promise<AsyncDisposable & { readonly chronos: Chronos }> {
  const clock = new VirtualClock(Date.UTC(2026, 10, 16, 22))
  const dice = seededDice(3)
  const store = memoryStore({ clock })
  const chronos = new Chronos(async () => store, clock, dice, { log: false, egress: { allow: ['loopback'] } })
  const demo = new Demo(clock, dice)
  chronos.work(demo.definitions, { concurrency: 20, signals: false })
  await demo.begin(chronos, 'http://127.0.0.1:9/')
  await clock.advance(minutes * 60_000)
  demo.end()
  return {
    chronos,
    // Jobs that run now end in virtual time.
    [Symbol.asyncDispose]: () => clock.passUntil(chronos.close()),
  }
}

describe("the demo's shop", () => {
  it('has data for every screen after three minutes', async () => {
    await using shop = await night(3.1)
    const { chronos } = shop
    const stats = await chronos.stats()
    for (const phase of ['succeeded', 'dead', 'scheduled'] as const) expect(stats.jobs[phase].value).toBeGreaterThan(0)
    expect(stats.totalRetries).toBeGreaterThan(100)
    const groups = await chronos.dead.groups({ all: true, limit: 200 })
    expect(new Set(groups.data.map(({ title }) => title)).size).toBeGreaterThanOrEqual(6)
    expect(groups.data.some(({ state }) => state === 'resolved' || state === 'regressed')).toBe(true)
    expect((await chronos.queues.list()).length).toBeGreaterThanOrEqual(8)
    const schedules = await chronos.schedules.list()
    expect(schedules.data.map(({ state }) => state)).toContain('paused')
    expect(schedules.data.some(({ fired }) => fired > 0)).toBe(true)
    expect((await chronos.webhooks.list()).data).toHaveLength(3)
    // At this time the bank is down. Each tenant has a circuit of its own.
    const { data: circuits } = await chronos.circuits.list()
    expect(new Set(circuits.map(({ key }) => key))).toEqual(new Set(['bank.example']))
    expect(circuits.map(({ tenantId }) => tenantId)).toEqual(expect.arrayContaining([undefined, 'acme']))
    expect(circuits.filter(({ state }) => state === 'open').length).toBeGreaterThanOrEqual(2)
    expect((await chronos.redrives.list()).data.length).toBeGreaterThan(0)
    expect((await chronos.alerts.list()).data.some(({ state }) => state === 'firing')).toBe(true)
    const tenants = (await chronos.jobs.list({ tenantId: 'acme' })).data
    expect(tenants.length).toBeGreaterThan(0)
  })
})
