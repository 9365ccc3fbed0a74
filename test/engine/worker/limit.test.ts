import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { storeProxy } from '../../../src/engine/time/store-proxy.js'
import type { Claim, LeaseStatus, Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const retries = (maxRetries: number) => fixed({ delay: '1s', maxRetries, jitter: 'none' })

/** The store, and what its claims answer. */
function watched(store: Store, onClaim: (claim: Claim) => void): Store {
  return storeProxy(store, (name, verb) => {
    if (name !== 'claim') return verb
    return async (...args) => {
      const claim = await verb(...args)
      onClaim(claim as Claim)
      return claim
    }
  })
}

describe.each(STORES)('the limit on %s', (_, store) => {
  test('R52: a job without retries whose handler had started is not started again after a stop', async () => {
    let starts = 0
    const job = defineJob({
      name: 'only',
      retry: retries(0),
      run(_payload: unknown, { signal }) {
        starts++
        return t.clock.wait(3_600_000, signal)
      },
    })
    const t = testChronos({ jobs: [job], store, work: { grace: '10s' } })
    const { id } = await t.enqueue(job, {})
    await t.advance('1s')
    const stopping = t.worker.stop()
    await t.advance('12s')
    await stopping
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted', attempt: 1 })
    const [last] = (await t.jobs.history(id)).data
    expect(last).toMatchObject({ status: 'released', label: 'Initial' })
    expect(last!.decision!.why).toBe(
      'died: the worker stopped after the run had started, and a job without retries is not started again',
    )
    expect(starts).toBe(1)
    await t.close()
  })

  test('R52: starts more jobs without retries than it has slots, each exactly once and never too many at a time', async () => {
    const ran: number[] = []
    let [running, most] = [0, 0]
    const job = defineJob({
      name: 'only',
      retry: retries(0),
      async run(number: number) {
        running++
        most = Math.max(most, running)
        await t.clock.wait(1)
        running--
        ran.push(number)
      },
    })
    await using t = testChronos({ jobs: [job], store, work: { concurrency: 3 } })
    const numbers = Array.from({ length: 200 }, (_each, number) => number)
    await t.enqueueMany(job, numbers)
    await t.drain()
    expect(ran.sort((a, b) => a - b)).toEqual(numbers)
    expect(most).toBe(3)
    expect((await t.jobs.count({ state: 'succeeded' })).value).toBe(numbers.length)
  })

  test('R52: a job begins only when a slot is reserved for it', async () => {
    const concurrency = 3
    let [begun, ended, most] = [0, 0, 0]
    const count = (more: number): void => {
      begun += more
      most = Math.max(most, begun - ended)
    }
    const job = defineJob({
      name: 'only',
      retry: retries(0),
      async run() {
        await t.clock.wait(1)
        ended++
      },
    })
    await using t = testChronos({
      jobs: [job],
      work: { concurrency },
      store: clock =>
        storeProxy(store(clock), (name, verb) => {
          if (name !== 'claim' && name !== 'begin') return verb
          return async (...args) => {
            const answer = await verb(...args)
            if (name === 'claim') count((answer as Claim).jobs.filter(each => each.begun).length)
            if (name === 'begin') count((answer as LeaseStatus[]).filter(status => status === 'held').length)
            return answer
          }
        }),
    })
    await t.enqueueMany(
      job,
      Array.from({ length: 200 }, (_each, number) => number),
    )
    await t.drain()
    expect([begun, ended]).toEqual([200, 200])
    expect(most).toBe(concurrency)
  })

  test('R52: handlers that end at once let more jobs begin with a claim than there are slots', async () => {
    const concurrency = 3
    const claims: number[] = []
    let [starts, running, most] = [0, 0, 0]
    const job = defineJob({
      name: 'only',
      retry: retries(0),
      async run() {
        starts++
        most = Math.max(most, ++running)
        await undefined
        running--
      },
    })
    await using t = testChronos({
      jobs: [job],
      work: { concurrency },
      store: clock => watched(store(clock), claim => claims.push(claim.jobs.length)),
    })
    await t.enqueueMany(job, Array(600).fill({}))
    await t.drain()
    expect([starts, most]).toEqual([600, concurrency])
    expect(Math.max(...claims)).toBe(8 * concurrency)
    // One claim for each three jobs would be 200.
    expect(claims.filter(jobs => jobs > 0).length).toBeLessThan(80)
  })

  test('R52: a job that began with its claim and finds no slot at once has not begun', async () => {
    const concurrency = 3
    let [starts, begunTogether] = [0, 0]
    const job = defineJob({
      name: 'only',
      retry: retries(0),
      run: () => (++starts > 400 ? t.clock.wait('1h') : undefined),
    })
    await using t = testChronos({
      jobs: [job],
      work: { concurrency },
      store: clock =>
        watched(store(clock), ({ jobs }) => {
          begunTogether = Math.max(begunTogether, jobs.filter(each => each.begun).length)
        }),
    })
    await t.enqueueMany(job, Array(600).fill({}))
    await t.advance('1s')
    expect(begunTogether).toBeGreaterThan(concurrency)
    expect(starts).toBe(400 + concurrency)
    const { data } = await t.jobs.list({ state: ['waiting', 'running'] }, { limit: 200 })
    const begun = data.filter(({ state, attempt }) => state === 'running' && attempt === 1)
    const untouched = data.filter(({ state, attempt, run }) => state === 'waiting' && attempt === 0 && run === 0)
    expect([begun.length, untouched.length]).toEqual([concurrency, 200 - concurrency])
  })

  test('R10: no two runs of a job have the same label', async () => {
    let runs = 0
    const job = defineJob({
      name: 'restless',
      retry: retries(3),
      run(_payload: unknown, context) {
        runs++
        if (runs === 2 || runs === 3) return context.snooze('1s')
        if (runs < 5) throw new Error('no')
        return undefined
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    const labels = (await t.jobs.history(id)).data.map(({ label }) => label)
    expect(labels).toEqual(['Retry #2', 'Retry #1', 'Run 3', 'Run 2', 'Initial'])
  })
})
