import { describe, expect, it } from 'vitest'
import { Bench, TestClock } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())
const HOUR_MS = 3_600_000
const LEASE_MS = 30_000

/** A clock that differs from another by this much. */
function shifted(byMs: number): TestClock {
  const clock = new TestClock()
  clock.advance(byMs)
  return clock
}

describe('the clock of a file', () => {
  it('is that of the processes before, if the system clock was set back before another one starts', async () => {
    const ahead = shifted(HOUR_MS)
    const older = folder.store({ clock: ahead })
    await older.enqueue([bench.job(), bench.job()])
    const first = await older.claim(bench.request({ workerId: 'older', leaseMs: LEASE_MS, limit: 1 }))
    const newer = folder.store({ clock: shifted(0) })
    const second = await newer.claim(bench.request({ workerId: 'newer', leaseMs: LEASE_MS, limit: 1 }))
    expect([first.jobs.length, second.jobs.length]).toEqual([1, 1])
    // Each process believes that the other one is alive.
    expect((await older.expired({ workers: 10 })).jobs).toEqual([])
    expect((await newer.expired({ workers: 10 })).jobs).toEqual([])
    expect((await newer.info()).now).toBe((await older.info()).now)
  })

  it('follows a process that is ahead while both run', async () => {
    const late = folder.store({ clock: shifted(0) })
    await late.enqueue([bench.job()])
    const early = folder.store({ clock: shifted(HOUR_MS) })
    await early.enqueue([bench.job()])
    const { jobs, now } = await late.claim(bench.request({ workerId: 'late', leaseMs: LEASE_MS, limit: 1 }))
    expect(now).toBe((await early.info()).now)
    expect(jobs).toHaveLength(1)
    expect((await early.expired({ workers: 10 })).jobs).toEqual([])
  })

  it('does not keep a time that is more than a day ahead', async () => {
    const wrong = folder.store({ clock: shifted(1_000 * HOUR_MS) })
    await wrong.enqueue([bench.job()])
    await wrong.close()
    const clock = shifted(0)
    const store = folder.store({ clock })
    await store.enqueue([bench.job()])
    expect((await store.info()).now).toBe(clock.now())
    const later = folder.store({ clock: shifted(1) })
    expect((await later.info()).now).toBe(clock.now() + 1)
  })

  it('writes nothing for transactions that change nothing', async () => {
    const clock = shifted(0)
    const store = folder.store({ clock })
    await store.enqueue([bench.job({ queue: 'other' })])
    const database = await folder.database()
    const version = () => database.prepare('PRAGMA data_version').get()
    const before = version()
    clock.advance(60_000)
    await store.claim(bench.request({ queues: ['empty'] }))
    expect(version()).toEqual(before)
  })
})
