import { describe, expect, it } from 'vitest'
import { discard } from '../../../src/core/job/changes.js'
import { Chronos } from '../../../src/engine/client/chronos.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { seededDice, VirtualClock } from '../../../src/engine/time/virtual.js'
import { PACE } from '../../../src/engine/upkeep/maintenance.js'
import { memoryStore } from '../../../src/store/memory.js'
import type { RecordQuery } from '../../../src/store/record.js'
import type { Store } from '../../../src/store/store.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

/** A world in which invoices die of one cause until it is fixed. */
function shop(open: (typeof STORES)[number][1], concurrency = 100) {
  const state = { isMended: false, runs: [] as number[] }
  const invoice = defineJob<{ n: number; bad?: boolean }, void>({
    name: 'invoice',
    queue: 'billing',
    retry: { maxRetries: 0 },
    run({ n, bad }) {
      state.runs.push(t.clock.now())
      if (bad) throw new TypeError(`Cannot read properties of undefined (reading 'vat')`)
      if (!state.isMended) throw new Error(`customer ${n} has no address`)
    },
  })
  const t: TestChronos = testChronos({ jobs: [invoice], store: open, work: { concurrency } })
  const die = async (count: number, more: { bad?: boolean } = {}): Promise<void> => {
    await t.enqueueMany(
      invoice,
      Array.from({ length: count }, (_, n) => ({ n, ...more })),
    )
    await t.drain()
    state.runs.length = 0
  }
  return { t, state, invoice, die, dead: t.chronos.dead, redrives: t.chronos.redrives }
}

describe.each(STORES)('dead letters on %s', (_, open) => {
  it('are grouped by their error', async () => {
    const { t, die, dead } = shop(open)
    await die(30)
    await die(3, { bad: true })
    const { data } = await dead.groups()
    expect(
      data.map(({ title, error, dead: count, failures, names, state }) => ({
        title,
        error,
        count,
        failures,
        names,
        state,
      })),
    ).toEqual([
      {
        title: 'customer <n> has no address',
        error: 'Error',
        count: 30,
        failures: 30,
        names: ['invoice'],
        state: 'open',
      },
      {
        title: expect.stringContaining('Cannot read properties of undefined'),
        error: 'TypeError',
        count: 3,
        failures: 3,
        names: ['invoice'],
        state: 'open',
      },
    ])
    const [group] = data
    const jobs = await dead.list({ fingerprint: group!.fingerprint })
    expect(jobs.data).toHaveLength(30)
    expect(jobs.data.map(job => job.id)).toEqual(expect.arrayContaining([...group!.samples]))
    expect(group!.samples.length).toBeGreaterThan(0)
    expect(group!.trend.reduce((sum, { failures }) => sum + failures, 0)).toBe(30)
    await t.close()
  })

  it('become regressed when a resolved error occurs again, but not when it is ignored', async () => {
    const { t, die, dead } = shop(open)
    await die(2)
    const [group] = (await dead.groups()).data
    await dead.setGroup(group!.fingerprint, 'resolved')
    await t.advance('1m')
    await die(1)
    expect(await dead.group(group!.fingerprint)).toMatchObject({ state: 'regressed', dead: 3 })
    await dead.setGroup(group!.fingerprint, 'ignored')
    await t.advance('1m')
    await die(1)
    expect(await dead.group(group!.fingerprint)).toMatchObject({ state: 'ignored', dead: 4 })
    expect((await dead.groups()).data).toEqual([])
    expect((await dead.groups({ all: true })).data).toHaveLength(1)
    await t.close()
  })

  it('can be acknowledged or discarded, with different effects', async () => {
    const { t, die, dead } = shop(open)
    await die(5)
    const [first, second] = (await dead.list()).data
    expect(await dead.acknowledge({ ids: [first!.id] })).toEqual({ matched: 1, changed: 1, dryRun: false })
    expect((await dead.list({ acknowledged: false })).data).toHaveLength(4)
    expect(await dead.discard({ ids: [second!.id] }, { dryRun: true })).toEqual({
      matched: 1,
      changed: 0,
      dryRun: true,
    })
    await dead.discard({ ids: [second!.id] })
    expect(await t.jobs.get(second!.id)).toMatchObject({ state: 'dead', reason: 'discarded' })
    const [group] = (await dead.groups()).data
    expect(group!.dead).toBe(4)
    // Given up for good: a redrive of everything leaves it alone.
    expect(await dead.redrive({}, { dryRun: true })).toEqual({
      dryRun: true,
      count: { value: 4, relation: 'exact' },
      skipped: 1,
    })
    await t.close()
  })
})

describe.each(STORES)('a redrive on %s', (_, open) => {
  it('stops after the canary if the cause is not fixed', async () => {
    const { t, state, die, dead, redrives } = shop(open)
    await die(300)
    const [group] = (await dead.groups()).data
    const { id } = await dead.redrive({ fingerprint: group!.fingerprint }, { rate: '200/s', canary: 10 })
    await t.advance('1m')
    expect(state.runs.length).toBeLessThanOrEqual(10)
    expect(await redrives.get(id)).toMatchObject({
      state: 'stopped',
      why: expect.stringContaining('failed again'),
      failing: expect.any(Number),
    })
    expect((await t.jobs.count({ state: 'dead' })).value).toBe(300)
    await t.close()
  })

  it('continues on request after its stop rule stopped it, and counts failures from there', async () => {
    const { t, state, die, dead, redrives } = shop(open)
    await die(100)
    const { id } = await dead.redrive({}, { rate: '50/s', canary: 5 })
    await t.advance('10s')
    expect(await redrives.get(id)).toMatchObject({ state: 'stopped' })
    state.isMended = true
    await redrives.resume(id)
    await t.advance('1m')
    expect(await redrives.get(id)).toMatchObject({ state: 'done', succeeded: 95, failing: 5 })
    await t.close()
  })

  it('redrives all jobs at its rate if the cause is fixed, with their ids and histories', async () => {
    const { t, state, die, dead, redrives } = shop(open)
    await die(1_200)
    state.isMended = true
    const { id } = await dead.redrive({}, { rate: '100/s', canary: 10 })
    await t.advance('2m')
    expect(await redrives.get(id)).toMatchObject({ state: 'done', succeeded: 1_200, failing: 0, started: 1_200 })
    // After the canary and the first slower seconds.
    const from = state.runs[0]! + 5_000
    const steady = state.runs.filter(at => at >= from && at < from + 5_000).length / 5
    expect(steady).toBeGreaterThan(90)
    expect(steady).toBeLessThan(110)
    const [job] = (await t.jobs.list({}, { limit: 1 })).data
    expect(job).toMatchObject({ state: 'succeeded', generation: 2 })
    const history = await t.jobs.history(job!.id)
    expect(history.data.map(run => [run.generation, run.status])).toEqual([
      [2, 'succeeded'],
      [1, 'failed'],
    ])
    expect((await dead.groups()).data).toEqual([])
    await t.close()
  })

  it('is paused, resumed, made faster and aborted', async () => {
    const { t, state, die, dead, redrives } = shop(open)
    await die(500)
    state.isMended = true
    const { id } = await dead.redrive({}, { rate: '10/s', canary: 0 })
    await t.advance('5s')
    await redrives.pause(id)
    await t.advance('1s')
    const paused = state.runs.length
    expect(paused).toBeGreaterThan(10)
    await t.advance('1m')
    expect(state.runs.length).toBe(paused)
    await redrives.resume(id)
    await redrives.setRate(id, '50/s')
    await t.advance('4s')
    expect(state.runs.length).toBeGreaterThan(paused + 150)
    const view = await redrives.abort(id)
    const aborted = state.runs.length
    await t.advance('1m')
    expect(view.state).toBe('aborted')
    expect(state.runs.length - aborted).toBeLessThanOrEqual(10)
    await expect(redrives.resume(id)).rejects.toThrow("can't resume redrive")
    await t.close()
  })

  it('continues after the process that started it has died', async () => {
    const { t, state, die, dead } = shop(open)
    await die(100)
    state.isMended = true
    const { id } = await dead.redrive({}, { rate: '10/s', canary: 0 })
    await t.advance('3s')
    await t.worker.stop()
    const stopped = state.runs.length
    expect(stopped).toBeLessThan(100)
    t.chronos.work([defineJob({ name: 'invoice', queue: 'billing', run: () => void state.runs.push(t.clock.now()) })], {
      signals: false,
      lease: '1h',
      poll: '1h',
    })
    await t.advance('3m')
    expect(await t.chronos.redrives.get(id)).toMatchObject({ state: 'done', succeeded: 100 })
    await t.close()
  })

  it('reports jobs whose unique value is taken, and continues', async () => {
    const state = { isMended: false }
    const sync = defineJob<{ n: number }, void>({
      name: 'sync',
      retry: { maxRetries: 0 },
      run() {
        if (!state.isMended) throw new Error('no')
      },
    })
    const t = testChronos({ jobs: [sync], store: open })
    const one = await t.enqueue(sync, { n: 1 }, { unique: 'acme' })
    await t.enqueue(sync, { n: 2 })
    await t.drain()
    state.isMended = true
    const live = await t.enqueue(sync, { n: 3 }, { unique: 'acme', delay: '1h' })
    const { id } = await t.chronos.dead.redrive({}, { canary: 0 })
    await t.advance('1m')
    expect(await t.chronos.redrives.get(id)).toMatchObject({
      state: 'done',
      succeeded: 1,
      conflictCount: 1,
      conflicts: [{ jobId: one.id, conflictId: live.id }],
    })
    await t.close()
  })

  it.each([
    [{ rate: 0 }, 'redrive: rate: expected a rate above 0'],
    [{ rate: 'fast' }, 'such as "20/s"'],
    [{ canary: -1 }, 'redrive: canary'],
    [{ stopWhenFailing: 2 }, 'redrive: stopWhenFailing: expected a number from 0 to 1, got 2'],
    [{ speed: 3 }, 'unknown'],
  ])('refuses %j', async (options, words) => {
    const { t, dead } = shop(open)
    await expect(dead.redrive({}, options as never)).rejects.toThrow(words)
    await t.close()
  })

  it('refuses an unknown group and a filter with a typo', async () => {
    const { t, dead } = shop(open)
    await expect(dead.redrive({ fingerprint: 'feedbeefcafe0000' })).rejects.toThrow('there is no error group')
    await expect(dead.redrive({ quue: 'x' } as never)).rejects.toThrow('queue')
    await t.close()
  })
})

describe('the redriver', () => {
  it('reads only the active redrives between two looks at all of them', async () => {
    const read: number[] = []
    const counting: (typeof STORES)[number][1] = clock => {
      const store = memoryStore({ clock })
      return new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          if (name !== 'records' || typeof member !== 'function') {
            return typeof member === 'function' ? member.bind(target) : member
          }
          return async (kind: string, query: RecordQuery) => {
            const records = await target.records(kind, query)
            if (kind === 'redrive') read.push(records.length)
            return records
          }
        },
      })
    }
    const { t, die, dead, redrives, state } = shop(counting)
    await die(200)
    state.isMended = true
    for (let n = 0; n < 50; n++) await redrives.abort((await dead.redrive({}, { rate: 1 })).id)
    const { id } = await dead.redrive({}, { rate: 10, canary: 0 })
    await t.advance(1_000)
    read.length = 0
    await t.advance(10_000)
    expect((await redrives.get(id)).state).toBe('running')
    expect(read.length).toBeGreaterThan(90)
    expect(Math.max(...read)).toBe(1)
    await t.close()
  })

  it('leaves a redrive alone that another process has taken over while it was suspended', async () => {
    const clock = new VirtualClock()
    const store = memoryStore({ clock })
    const shared: Store = { ...store, close: async () => {} }
    let suspensions = 1
    // The process stands still between the list of the dead jobs and their start.
    const list: Store['list'] = async (filter, page) => {
      const found = await store.list(filter, page)
      if (filter.state === 'dead' && suspensions-- > 0) await new Promise<void>(resume => clock.timer(8_000, resume))
      return found
    }
    const pace = { ...PACE, redrivesMs: 1_000 }
    const open = (given: Store, seed: number): Chronos =>
      new Chronos(async () => given, clock, seededDice(seed), { log: false }, pace)
    const [suspended, other] = [open({ ...shared, list }, 1), open(shared, 2)]
    const fails = (): never => {
      throw new Error('no address')
    }
    other.work([defineJob({ name: 'invoice', retry: { maxRetries: 0 }, run: fails })], { signals: false })
    const jobs = await suspended.enqueueMany('invoice', [1, 2, 3, 4, 5])
    await clock.advance(5_000)
    await clock.passUntil(other.queues.pause('default'))
    suspended.maintain()
    const { id } = await suspended.dead.redrive({}, { canary: 2 })
    await clock.advance(1_000, { despite: 'calls' })
    await store.change([jobs[0]!.id], discard)
    await clock.advance(15_000, { despite: 'calls' })
    expect(suspensions).toBeLessThan(1)
    expect(await store.count({ redriveId: id }, 10)).toMatchObject({ value: 2 })
    expect(await store.get(jobs[0]!.id)).toMatchObject({ state: 'dead', reason: 'discarded' })
    await clock.passUntil(Promise.all([suspended.close(), other.close()]))
  })
})
