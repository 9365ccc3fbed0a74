import { describe, expect, it } from 'vitest'
import { silentLog } from '../../src/engine/client/log.js'
import { seededDice, VirtualClock } from '../../src/engine/time/virtual.js'
import { AuditLog, type Change } from '../../src/server/audit-log.js'
import { memoryStore } from '../../src/store/memory.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function opened() {
  const clock = new VirtualClock()
  const store = memoryStore({ clock })
  const dice = seededDice(1)
  const log = new AuditLog({ store: async () => store, clock, dice, log: silentLog })
  const change: Change = {
    caller: { id: 'a', name: 'ann', role: 'operator', by: 'token' },
    action: 'POST /queues/{name}/pause',
    requestId: 'r',
  }
  const add = async (count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, (_, index) => log.add({ ...change, target: `${index}` })))
  }
  const size = async (): Promise<number> => (await store.records('audit-log', { limit: 10_000 })).length
  return { clock, dice, log, add, size, change }
}

describe('the audit log', () => {
  it('keeps entries younger than 90 days through any number of prunes', async () => {
    const { clock, dice, log, add, size } = opened()
    await add(600)
    for (let hour = 0; hour < 90 * 24; hour++) {
      // Requests and jobs of the process keep taking ids, which only grow.
      dice.id(clock.now())
      expect(await log.prune()).toBe(HOUR_MS)
      await clock.advance(HOUR_MS)
    }
    expect(await size()).toBe(600)
  })

  it('deletes entries older than 90 days in batches, and no others', async () => {
    const { clock, log, add, size } = opened()
    await add(1_200)
    await clock.advance(60 * DAY_MS)
    await add(10)
    await clock.advance(30 * DAY_MS + 1_000)
    expect([await log.prune(), await log.prune(), await log.prune()]).toEqual([0, 0, HOUR_MS])
    expect(await size()).toBe(10)
    await clock.advance(60 * DAY_MS)
    await log.prune()
    expect(await size()).toBe(0)
  })

  it('sums up one caller and action per second', async () => {
    const { clock, log, change } = opened()
    for (let index = 0; index < 5; index++) log.sum({ ...change, facts: { count: 2 } })
    log.sum({ ...change, caller: { ...change.caller, name: 'bob' } })
    await clock.advance(1_000)
    log.sum(change)
    await clock.advance(1_000)
    const { data } = await log.list()
    expect(data.map(({ actor, count }) => [actor, count])).toEqual([
      ['ann', 1],
      ['bob', 1],
      ['ann', 10],
    ])
  })
})
