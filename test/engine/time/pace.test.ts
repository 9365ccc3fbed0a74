import { describe, expect, it } from 'vitest'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const fails = defineJob({
  name: 'fails',
  retry: { maxRetries: 0 },
  run() {
    throw new Error('no')
  },
})
const works = defineJob({ name: 'works', run: () => undefined })

/** The store, which counts its calls. */
function counting(store: Store, calls: Map<string, number>): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const member = target[name]
      if (typeof member !== 'function' || name === 'pulse') return member
      return (...values: never[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1)
        return (member as (...given: never[]) => unknown).apply(target, values)
      }
    },
  })
}

describe('a test instance', () => {
  it('runs every loop as often as in production', async () => {
    // A deadline keeps the sweeper busy, and a schedule the scheduler.
    const busy = async (chronos: Chronos): Promise<void> => {
      await chronos.enqueue(works, undefined, { delay: '2d', deadline: '3d' })
      await chronos.schedules.put('daily', { every: '1d', job: works, payload: undefined })
    }
    const [tested, real] = [new Map<string, number>(), new Map<string, number>()]
    const t = testChronos({ jobs: [works], store: clock => counting(memoryStore({ clock }), tested) })
    await busy(t.chronos)
    await t.advance('1h')
    const clock = new VirtualClock()
    const chronos = new Chronos(async () => counting(memoryStore({ clock }), real), clock, seededDice(1), {
      log: false,
      retention: false,
    })
    chronos.work([works], { signals: false })
    await busy(chronos)
    await clock.advance(3_600_000)
    expect(Object.fromEntries(tested)).toEqual(Object.fromEntries(real))
    expect(tested.get('overdue')).toBeGreaterThanOrEqual(720)
    await t.close()
    await clock.passUntil(chronos.close())
  })

  it('fires an alert at the time at which it fires in production', async () => {
    await using t = testChronos({ jobs: [fails] })
    const start = t.clock.now()
    const fired: number[] = []
    t.on('alert.firing', ({ alert }) => {
      if (alert.rule === 'dead-letters') fired.push(t.clock.now() - start)
    })
    await t.advance('10s')
    await t.enqueue(fails, undefined)
    await t.advance('20m')
    // Found by the evaluation after 30 seconds, and still there five minutes later.
    expect(fired).toEqual([330_000])
  })

  it.each(STORES)(
    'claims nothing while nothing changes, and finds what another process added, on %s',
    async (_, open) => {
      const calls = new Map<string, number>()
      let shared: Store | undefined
      const store = (clock: VirtualClock): Store => {
        shared = open(clock)
        return counting(shared, calls)
      }
      await using t = testChronos({ jobs: [works], store })
      await t.enqueue(works, undefined)
      await t.advance('1m')
      calls.clear()
      await t.advance('10s')
      expect(calls.get('claim') ?? 0).toBeLessThanOrEqual(2)
      const id = '0192f0c1-7b1e-7c3a-9d4e-5f6a7b8c9d0e'
      const given = {
        name: 'works',
        queue: 'default',
        priority: 5,
        delivery: 'at-least-once',
        payload: 'null',
      } as const
      await shared!.enqueue([{ id, ...given, tags: [], runAt: { delayMs: 0 } }])
      await t.advance('1s')
      expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    },
  )
})

describe('timers of loops', () => {
  it('fire together with those that follow at the same moment, in their order', async () => {
    const clock = new VirtualClock(0)
    const fired: string[] = []
    const note = (name: string) => (): true => {
      fired.push(name)
      void Promise.resolve().then(() => fired.push(`after ${name}`))
      return true
    }
    clock.tick(5, note('a'))
    clock.tick(5, note('b'))
    clock.timer(5, note('c'))
    clock.tick(6, note('d'))
    await clock.advance(10)
    expect(fired).toEqual(['a', 'b', 'after a', 'after b', 'c', 'after c', 'd', 'after d'])
  })

  it('that have nothing to do pass without a turn of the event loop', async () => {
    const clock = new VirtualClock(0)
    let [ticks, turns] = [0, 0]
    const idle = (): boolean => {
      clock.tick(1, idle)
      ticks++
      return false
    }
    clock.tick(1, idle)
    const count = (): void => {
      turns++
      handle = setImmediate(count)
    }
    let handle = setImmediate(count)
    await clock.advance(10_000)
    clearImmediate(handle)
    expect(ticks).toBe(10_000)
    expect(turns).toBeLessThan(100)
  })
})

describe.each(STORES)('the pulse of %s', (_, open) => {
  it('reports changes, running jobs, deadlines and deltas', async () => {
    const store = open(new VirtualClock())
    await store.migrate()
    const empty = store.pulse!()!
    expect(empty).toMatchObject({ runs: false, hasDeadlines: false, hasDeltas: false })
    const id = '0192f0c1-7b1e-7c3a-9d4e-5f6a7b8c9d0e'
    const given = { name: 'works', queue: 'default', priority: 5, delivery: 'at-least-once', payload: 'null' } as const
    await store.enqueue([{ id, ...given, tags: [], runAt: { delayMs: 0 }, deadline: { delayMs: 9_000 } }])
    const waiting = store.pulse!()!
    expect(waiting).toMatchObject({ runs: false, hasDeadlines: true, hasDeltas: true })
    expect(waiting.changes).toBeGreaterThan(empty.changes)
    await store.fold(10)
    expect(store.pulse!()).toMatchObject({ hasDeltas: false })
    const { changes } = store.pulse!()!
    await store.claim({ workerId: 'w', token: 't', queues: ['other'], limit: 1, leaseMs: 1_000, policyIds: {} })
    expect(store.pulse!()).toMatchObject({ changes })
    await store.claim({ workerId: 'w', token: 't', queues: ['default'], limit: 1, leaseMs: 1_000, policyIds: {} })
    const running = store.pulse!()!
    expect(running).toMatchObject({ runs: true, hasDeadlines: false })
    expect(running.changes).toBeGreaterThan(changes)
    await store.setQueue('default', { paused: true })
    expect(store.pulse!()!.changes).toBeGreaterThan(running.changes)
    await store.close()
  })
})
