import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { realPause } from '../../../src/engine/time/system.js'
import { VirtualClock } from '../../../src/engine/time/virtual.js'
import { testChronos } from '../../../src/testing.js'
import { startReceiver } from '../../support/receiver.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '1m', maxRetries: 1, jitter: 'none' })

describe.each(STORES)('virtual time on %s', (_, store) => {
  test('stands still while a handler works in real time', async () => {
    const took: number[] = []
    const job = defineJob({
      name: 'real',
      timeout: '1s',
      retry: 'none',
      async run() {
        const since = t.clock.now()
        await realPause(30)
        took.push(t.clock.now() - since)
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.advance('1h')
    expect(took).toEqual([0])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
  })

  test('stands still while a handler waits for a local HTTP answer', async () => {
    await using receiver = await startReceiver(
      (_request, response) => void realPause(30).then(() => response.end('ok')),
    )
    const job = defineJob({
      name: 'call',
      timeout: '1s',
      retry: 'none',
      run: async () => (await fetch(receiver.origin)).text(),
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'ok' })
  })

  test('stands still while a worker stops and its store closes', async () => {
    const job = defineJob({ name: 'quick', run: () => undefined })
    for (let closes = 0; closes < 10; closes++) {
      const t = testChronos({ jobs: [job], store })
      await t.enqueue(job, {})
      await t.drain()
      const now = t.clock.now()
      await t.close()
      expect(t.clock.now()).toBe(now)
    }
  })

  test('passes for a handler that waits for it', async () => {
    const job = defineJob({ name: 'slow', timeout: '3h', run: () => t.clock.wait('2h') })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.advance('119m')
    expect(await t.jobs.get(id)).toMatchObject({ state: 'running' })
    await t.drain()
    expect((await t.jobs.history(id)).data).toMatchObject([{ status: 'succeeded', durationMs: 7_200_000 }])
  })

  test('stands still again when a handler has waited and goes on in real time', async () => {
    const took: number[] = []
    const job = defineJob({
      name: 'both',
      async run() {
        await t.clock.wait('1m')
        const since = t.clock.now()
        await realPause(20)
        took.push(t.clock.now() - since)
      },
    })
    await using t = testChronos({ jobs: [job], store })
    await t.enqueue(job, {})
    await t.advance('1d')
    expect(took).toEqual([0])
  })

  test('passes despite a handler that hangs, when the test says so', async () => {
    const job = defineJob({ name: 'hung', timeout: '1m', retry, run: () => new Promise<never>(() => {}) })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain({ despite: 'handlers' })
    const { data } = await t.jobs.history(id)
    expect(data.map(({ label, status, durationMs }) => [label, status, durationMs])).toEqual([
      // Five more seconds pass before the worker gives up a handler that ignores its signal.
      ['Retry #1', 'timed-out', 65_000],
      ['Initial', 'timed-out', 65_000],
    ])
    // Handlers that were given up hold nothing up.
    await t.advance('1h')
  })

  test('aborts a handler that still runs at the end of a test, and releases its job', async () => {
    let reason: unknown
    const job = defineJob({
      name: 'running',
      run: (_payload: unknown, { signal }) =>
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            reject(signal.reason)
          })
        }),
    })
    const t = testChronos({ jobs: [job], store })
    await t.enqueue(job, {})
    await t.advance('1s', { despite: 'handlers' })
    await t.close()
    expect(reason).toMatchObject({ code: 'STOPPED' })
  })
})

describe('a virtual clock', () => {
  test('fires timers in the order of their times, then of their creation', async () => {
    const clock = new VirtualClock(0)
    const fired: string[] = []
    for (const [name, ms] of [
      ['c', 20],
      ['a', 10],
      ['d', 20],
      ['b', 10],
    ] as const) {
      clock.timer(ms, () => fired.push(`${name} ${clock.now()}`))
    }
    clock.timer(15, () => fired.push('cancelled')).cancel()
    await clock.advance(20)
    expect(fired).toEqual(['a 10', 'b 10', 'c 20', 'd 20'])
  })

  test('waits for calls in real time, and for those that follow from them', async () => {
    const clock = new VirtualClock(0)
    const seen: number[] = []
    const call = (): Promise<void> => clock.outstanding.call(() => realPause(5)).then(() => void seen.push(clock.now()))
    clock.timer(100, () => void call().then(call).then(call))
    await clock.advance(1_000)
    expect(seen).toEqual([100, 100, 100])
  })

  test('stands still while a call hangs, unless the test says otherwise', async () => {
    const clock = new VirtualClock(0)
    void clock.outstanding.call(() => new Promise<never>(() => {}))
    await clock.advance(50, { despite: 'calls' })
    expect(clock.now()).toBe(50)
  })

  test('passes until a promise is settled, and not further', async () => {
    const clock = new VirtualClock(0)
    clock.timer(500, () => {})
    expect(await clock.passUntil(clock.wait('90ms').then(() => 'done'))).toBe('done')
    expect(clock.now()).toBe(90)
    await expect(clock.passUntil(Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(clock.now()).toBe(90)
  })

  test('ends a wait as soon as its signal aborts', async () => {
    const clock = new VirtualClock(0)
    const controller = new AbortController()
    const waiting = clock.wait('1h', controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(clock.wait('1h', controller.signal)).rejects.toThrow('enough')
    expect(clock.nextTimerAt()).toBeUndefined()
  })
})
