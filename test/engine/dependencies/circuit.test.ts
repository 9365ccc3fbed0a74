import { describe, expect, it } from 'vitest'
import { RetryAfter } from '../../../src/core/failure/retry-after.js'
import { ChronosError } from '../../../src/core/values/error.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice, type VirtualClock } from '../../../src/engine/time/virtual.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

/** Something that jobs depend on, up or down, and when each call reached it. */
class Target {
  isUp = true
  readonly calls: { at: number; ok: boolean }[] = []

  call(at: number): void {
    this.calls.push({ at, ok: this.isUp })
    if (!this.isUp) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  }

  /** Calls per second, from a moment on. */
  peak(from: number): number {
    const bins = new Map<number, number>()
    for (const { at } of this.calls.filter(call => call.at >= from)) {
      const bin = Math.floor((at - from) / 1_000)
      bins.set(bin, (bins.get(bin) ?? 0) + 1)
    }
    return Math.max(0, ...bins.values())
  }
}

describe.each(STORES)('a circuit on %s', (_, open) => {
  it('lets no job die in an outage longer than the whole policy, and starts them again along a ramp', async () => {
    const target = new Target()
    const pay = defineJob({
      name: 'pay',
      dependsOn: 'https://pay.example',
      retry: { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'none', circuit: true },
      run: () => target.call(t.clock.now()),
    })
    const t = testChronos({ jobs: [pay], store: open, work: { concurrency: 50 } })
    target.isUp = false
    await t.enqueueMany(
      pay,
      Array.from({ length: 1_000 }, (_, n) => ({ n })),
    )
    await t.advance('20m')

    const [circuit] = (await t.chronos.circuits.list()).data
    expect(circuit).toMatchObject({ key: 'https://pay.example', state: 'open' })
    expect((await t.jobs.count({ state: 'dead' })).value).toBe(0)
    // Open for 30 s, 1 m, 2 m, 4 m, 8 m: five periods have ended.
    const probes = target.calls.filter(call => call.at > t.clock.now() - 1_200_000 + 20_000)
    expect(probes.length).toBeLessThanOrEqual(5)
    expect(probes.length).toBeGreaterThanOrEqual(4)

    target.isUp = true
    const recoveredAt = t.clock.now()
    await t.drain({ within: '1h' })
    expect((await t.jobs.count({ state: 'succeeded' })).value).toBe(1_000)
    const closedAt = target.calls.find(call => call.ok)!.at
    // The ramp: 5/s, doubling every 5 s.
    for (const [step, rate] of [5, 10, 20, 40].entries()) {
      const from = closedAt + step * 5_000
      const inStep = target.calls.filter(call => call.at >= from && call.at < from + 5_000)
      expect(inStep.length).toBeLessThanOrEqual(2 * 5 * rate)
    }
    expect(target.peak(recoveredAt)).toBeLessThanOrEqual(2 * 160)
    const ids = (await t.jobs.list({}, { limit: 100 })).data.map(job => job.id)
    for (const id of ids) {
      const { data } = await t.jobs.history(id, { limit: 100 })
      expect(data.filter(run => run.status === 'deferred').length).toBeLessThanOrEqual(3)
    }
    await t.close()
  })

  it('R52: a failed probe counts, so a handler starts at most maxRetries + 1 times', async () => {
    const target = new Target()
    const pay = defineJob({
      name: 'pay',
      dependsOn: 'pay',
      retry: { maxRetries: 2, backoff: { type: 'fixed', delay: '1s' }, jitter: 'none', circuit: { minimumCalls: 1 } },
      run: () => target.call(t.clock.now()),
    })
    await using t = testChronos({ jobs: [pay], store: open })
    target.isUp = false
    const { id } = await t.enqueue(pay, undefined)
    await t.advance('1h')
    expect(target.calls).toHaveLength(3)
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted', attempt: 3 })
    const labels = (await t.jobs.history(id)).data.filter(run => run.status === 'failed').map(run => run.label)
    expect(labels).toEqual(['Retry #2', 'Retry #1', 'Initial'])
  })

  it('is known to every process within a second', async () => {
    const target = new Target()
    const started: string[] = []
    let store: ReturnType<typeof open> | undefined
    const define = (where: string) =>
      defineJob({
        name: 'pay',
        dependsOn: 'pay',
        retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '5m' }, jitter: 'none', circuit: { minimumCalls: 5 } },
        run() {
          started.push(where)
          target.call(t.clock.now())
        },
      })
    const here = define('here')
    const shared = (clock: VirtualClock) => {
      store = open(clock)
      return store
    }
    const t = testChronos({ jobs: [here], store: shared, work: { concurrency: 5 } })
    await t.enqueue(here, undefined)
    await t.advance('1s')
    const other = new Chronos(async () => store!, t.clock, seededDice(2), { log: false })
    const there = other.work([define('there')], { signals: false, concurrency: 5 })
    await t.advance('1s')
    target.isUp = false
    await t.queues.pause('default')
    await t.enqueueMany(
      here,
      Array.from({ length: 10 }, () => undefined),
    )
    await other.queues.pause('default')
    await t.queues.resume('default')
    await t.advance('1s')
    expect((await other.circuits.list()).data[0]).toMatchObject({ key: 'pay', state: 'open' })
    started.length = 0
    await other.queues.resume('default')
    await t.enqueueMany(
      here,
      Array.from({ length: 20 }, () => undefined),
    )
    await t.advance('5s')
    expect(started).toEqual([])
    await there.stop()
    await t.close()
  })

  it('is known at once to a process that has not used it for a while', async () => {
    const started: string[] = []
    let store: ReturnType<typeof open> | undefined
    const define = (where: string) =>
      defineJob({ name: 'pay', dependsOn: 'pay', retry: { circuit: true }, run: () => void started.push(where) })
    const here = define('here')
    const shared = (clock: VirtualClock) => {
      store = open(clock)
      return store
    }
    await using t = testChronos({ jobs: [here], store: shared })
    await using other = new Chronos(async () => store!, t.clock, seededDice(2), { log: false })
    other.work([define('there')], { signals: false, queues: ['elsewhere'] })
    await t.enqueue(here, undefined)
    await t.enqueue(here, undefined, { queue: 'elsewhere' })
    await t.advance('5m')
    expect(started.sort()).toEqual(['here', 'there'])
    await t.chronos.circuits.open('pay')
    await t.enqueue(here, undefined, { queue: 'elsewhere' })
    await t.advance('1m')
    expect(started).toHaveLength(2)
  })

  it('throttles the whole fleet after one Retry-After, and starts the jobs one after the other', async () => {
    const starts: number[] = []
    let isBusy = true
    const call = defineJob({
      name: 'call',
      dependsOn: 'https://api.example',
      retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '1s' }, jitter: 'none', circuit: true },
      run() {
        starts.push(t.clock.now())
        if (isBusy) throw new RetryAfter('30s')
      },
    })
    const t = testChronos({ jobs: [call], store: open, work: { concurrency: 1 } })
    const begin = t.clock.now()
    await t.enqueueMany(
      call,
      Array.from({ length: 50 }, () => undefined),
    )
    await t.advance('20s')
    expect(starts).toHaveLength(1)
    isBusy = false
    await t.drain({ within: '10m' })
    const later = starts.slice(1).map(at => at - begin)
    expect(later).toHaveLength(50)
    expect(Math.min(...later)).toBeGreaterThanOrEqual(30_000)
    expect(later.filter(at => at < 31_000).length).toBeLessThanOrEqual(6)
    await t.close()
  })

  it('sends another probe soon after the process of a probe has died', async () => {
    const target = new Target()
    const pay = defineJob({
      name: 'pay',
      dependsOn: 'pay',
      retry: { maxRetries: 9, backoff: { type: 'fixed', delay: '1s' }, jitter: 'none', circuit: { minimumCalls: 4 } },
      run: () => target.call(t.clock.now()),
    })
    const t = testChronos({ jobs: [pay], store: open, work: { lease: '30s' } })
    target.isUp = false
    await t.enqueueMany(
      pay,
      Array.from({ length: 6 }, () => undefined),
    )
    await t.advance('2s')
    expect(await t.chronos.circuits.get('pay')).toMatchObject({ state: 'open' })
    await t.queues.pause('default')
    target.isUp = true
    // A pull worker claims the probe and vanishes.
    await t.advance('45s')
    await t.enqueue('remote', {}, { queue: 'remote', dependsOn: 'pay', retry: { circuit: true } })
    const { data: leases } = await t.chronos.leases.claim({ workerId: 'gone', queues: ['remote'], lease: '30s' })
    expect(leases).toHaveLength(1)
    expect(await t.chronos.circuits.get('pay')).toMatchObject({ state: 'half-open', probeJobId: leases[0]!.job.id })
    await t.queues.resume('default')
    await t.advance('90s')
    expect(target.calls.filter(({ ok }) => ok)).toHaveLength(6)
    expect((await t.chronos.circuits.get('pay')).state).toBe('closed')
    await t.close()
  })

  it('is opened and closed by an operator', async () => {
    const target = new Target()
    const pay = defineJob({
      name: 'pay',
      dependsOn: 'pay',
      retry: { circuit: true },
      run: () => target.call(t.clock.now()),
    })
    const t = testChronos({ jobs: [pay], store: open })
    await expect(t.chronos.circuits.open('pay')).rejects.toThrow('there is no circuit "pay"')
    await t.enqueue(pay, undefined)
    await t.advance('1s')
    expect(await t.chronos.circuits.open('pay')).toMatchObject({ state: 'open', forced: 'open' })
    const { id } = await t.enqueue(pay, undefined)
    await t.advance('5m')
    expect(target.calls).toHaveLength(1)
    expect((await t.jobs.explain(id)).summary).toContain('manually')
    expect(await t.chronos.circuits.close('pay')).toMatchObject({ state: 'ramping' })
    await t.advance('1m')
    expect(target.calls).toHaveLength(2)
    await t.close()
  })

  it('works while the store fails repeatedly, and loses no job', async () => {
    const target = new Target()
    const pay = defineJob({
      name: 'pay',
      dependsOn: 'pay',
      retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '1s' }, jitter: 'none', circuit: { minimumCalls: 5 } },
      run: () => target.call(t.clock.now()),
    })
    const dice = seededDice(3)
    let failures = 0
    const unsteady = (clock: VirtualClock) => {
      const store = open(clock)
      const sometimes =
        <A extends unknown[], R>(verb: (...args: A) => Promise<R>) =>
        (...args: A): Promise<R> => {
          if (dice.random() > 0.4) return verb(...args)
          failures++
          return Promise.reject(new ChronosError('STORE_UNAVAILABLE', 'away'))
        }
      const { records, putRecords, defer, count } = store
      return {
        ...store,
        records: sometimes(records),
        putRecords: sometimes(putRecords),
        defer: sometimes(defer),
        count,
      }
    }
    const t = testChronos({ jobs: [pay], store: unsteady, work: { concurrency: 20 } })
    target.isUp = false
    await t.enqueueMany(
      pay,
      Array.from({ length: 100 }, () => undefined),
    )
    await t.advance('5m')
    target.isUp = true
    await t.drain({ within: '2h' })
    expect((await t.jobs.count({ state: 'succeeded' })).value).toBe(100)
    expect(failures).toBeGreaterThan(100)
    await t.close()
  })
})
