import * as api from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const retry = fixed({ delay: '1s', maxRetries: 1, jitter: 'none' })
const getter = Object.defineProperty({}, 'message', {
  get() {
    throw new Error('no peeking')
  },
})
const revoked = Proxy.revocable({}, {})
revoked.revoke()

describe.each(STORES)('a handler on %s', (_, store) => {
  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['a string of 10 MB', 'x'.repeat(10_000_000)],
    ['a revoked proxy', revoked.proxy],
    ['an object with throwing getters', getter],
    ['a symbol', Symbol('odd')],
    ['a BigInt', 10n],
    ['a text with \\u0000 and half a surrogate', 'a\u0000b\ud800c'],
    ['a frozen object', Object.freeze({ code: 7 })],
  ])('R14: that throws %s fails its attempt with a readable, bounded error', async (_name, thrown) => {
    const job = defineJob({
      name: 'odd',
      retry,
      async run() {
        throw thrown
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    const { data } = await t.jobs.history(id)
    expect(data.map(one => one.status)).toEqual(['failed', 'failed'])
    const { error } = data[0]!
    expect(error!.message.length).toBeGreaterThan(0)
    expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThanOrEqual(16 * 1024)
    expect(JSON.stringify(error)).not.toMatch(/\\u0000|\\ud800/)
  })

  test('R10: keeps its own frames of the stack, and none of ours', async () => {
    async function chargeTheCard(): Promise<never> {
      throw new Error('declined')
    }
    const job = defineJob({ name: 'deep', retry: 'none', run: () => chargeTheCard() })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job)
    await t.drain()
    const { stack } = (await t.jobs.history(id)).data[0]!.error!
    expect(stack).toContain('chargeTheCard')
    expect(stack).not.toMatch(/Runner|Worker\.#|src\/engine/)
  })

  test('R10: keeps none of our frames of a traced run either', async () => {
    const job = defineJob({
      name: 'traced',
      retry: 'none',
      run() {
        throw new Error('declined')
      },
    })
    await using t = testChronos({ jobs: [job], store, tracing: api })
    const { id } = await t.enqueue(job)
    await t.drain()
    const { stack } = (await t.jobs.history(id)).data[0]!.error!
    expect(stack).toContain('handler.test')
    expect(stack).not.toMatch(/src\/engine/)
  })

  test('R14: that fails does not delay the others', async () => {
    const job = defineJob({
      name: 'mixed',
      retry: 'none',
      async run({ bad }: { bad: boolean }) {
        if (bad) throw new Error('bad')
        return 'good'
      },
    })
    await using t = testChronos({ jobs: [job], store })
    await t.enqueueMany(
      job,
      Array.from({ length: 40 }, (_, i) => ({ bad: i % 2 === 0 })),
    )
    await t.drain()
    expect((await t.jobs.count({ state: 'dead' })).value).toBe(20)
    expect((await t.jobs.count({ state: 'succeeded' })).value).toBe(20)
  })

  test('R15: gets an abort signal at its timeout, and the attempt is timed-out', async () => {
    let reason: unknown
    const job = defineJob({
      name: 'slow',
      timeout: '2s',
      retry: 'none',
      run: (_payload: unknown, { signal }) =>
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason
            reject(signal.reason)
          })
        }),
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.advance('2s', { despite: 'handlers' })
    expect(reason).toMatchObject({ code: 'TIMED_OUT' })
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted' })
    const [attempt] = (await t.jobs.history(id)).data
    expect(attempt).toMatchObject({ status: 'timed-out', durationMs: 2000, error: { name: 'TimeoutError' } })
  })

  test('R15: that ignores its signal frees its slot after 5 s, and can write nothing any more', async () => {
    let refusal: unknown
    let wake = (): void => {}
    const deaf = defineJob({
      name: 'deaf',
      timeout: '1s',
      retry: 'none',
      async run(_payload: unknown, job) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
        try {
          job.log('too late')
        } catch (error) {
          refusal = error
        }
      },
    })
    await using t = testChronos({ jobs: [deaf], store, work: { concurrency: 1 } })
    const first = await t.enqueue(deaf, {})
    await t.advance('5s', { despite: 'handlers' })
    expect(t.worker.getStats()).toMatchObject({ running: 1, handlersStuck: 0 })
    await t.advance('1s', { despite: 'handlers' })
    expect(t.worker.getStats()).toMatchObject({ running: 0, handlersStuck: 1 })
    wake()
    await t.advance('1s', { despite: 'handlers' })
    expect(refusal).toMatchObject({ code: 'LEASE_LOST' })
    expect((await t.jobs.logs(first.id)).data).toEqual([])
    expect((await t.jobs.history(first.id)).data.map(one => one.status)).toEqual(['timed-out'])
  })

  test('gets the payload as its schema makes it, and bad payloads are refused at enqueue', async () => {
    const seen: unknown[] = []
    const job = defineJob({
      name: 'typed',
      payload: z.object({ at: z.coerce.date(), n: z.number().default(3) }),
      async run(payload) {
        seen.push(payload)
      },
    })
    await using t = testChronos({ jobs: [job], store })
    await t.enqueue(job, { at: '2026-01-02T00:00:00Z' })
    await t.drain()
    expect(seen).toEqual([{ at: new Date('2026-01-02T00:00:00Z'), n: 3 }])
    await expect(t.enqueue(job, { at: 'never' } as never)).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: expect.stringContaining('payload of "typed".at'),
    })
  })

  test('whose result is not JSON still succeeds', async () => {
    const job = defineJob({ name: 'odd-result', run: async () => ({ big: 1n }) })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded' })
    expect((await t.jobs.history(id)).data[0]?.note).toMatch(/result was not kept/)
  })

  test('R55: notes are stored with the run, whether it succeeds or not', async () => {
    const job = defineJob({
      name: 'welcome',
      retry: fixed({ delay: '1s', maxRetries: 3 }),
      async run(_payload: unknown, context) {
        context.note(['SMTP was slow', 'no answer', 'greylisted', 'Email delivered'][context.run - 1]!)
        if (context.run === 1) throw new Error('SMTP timeout')
        if (context.run === 2) await t.clock.wait('1h', context.signal)
        if (context.run === 3) return context.snooze('1m', 'asked to come back')
        context.note('message 17')
        return undefined
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {}, { timeout: '10s' })
    await t.drain()
    const { data } = await t.jobs.history(id)
    expect(data.map(({ label, status, note }) => [label, status, note])).toEqual([
      ['Retry #2', 'succeeded', 'Email delivered; message 17'],
      ['Run 3', 'snoozed', 'greylisted; asked to come back'],
      ['Retry #1', 'timed-out', 'no answer'],
      ['Initial', 'failed', 'SMTP was slow'],
    ])
    expect((await t.chronos.verify()).findings).toEqual([])
  })

  test('R55: a note is bounded, and never fails its job', async () => {
    const job = defineJob({
      name: 'odd-notes',
      async run(_payload: unknown, context) {
        context.note({ not: 'text' } as never)
        context.note('x'.repeat(5_000))
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    const [attempt] = (await t.jobs.history(id)).data
    expect(attempt?.status).toBe('succeeded')
    expect(attempt?.note).toMatch(/^\{"not":"text"\}; x+…$/)
    expect(Buffer.byteLength(attempt!.note!)).toBeLessThanOrEqual(1_000)
  })

  test.each([
    ['is not JSON', () => ({ big: 1n }), 'it is not JSON'],
    ['is over 1 MiB', () => 'x'.repeat(1024 * 1024), 'it is over 1 MiB'],
  ])('whose result %s is logged as a warning', async (_, run, why) => {
    const lines: unknown[] = []
    const quiet = (): void => undefined
    const warn = (...line: unknown[]) => void lines.push(line)
    const log = { debug: quiet, info: quiet, error: quiet, warn, isLevelEnabled: () => false }
    const job = defineJob<unknown, unknown>({ name: 'odd-result', run })
    await using t = testChronos({ jobs: [job], store, log })
    const { id: jobId } = await t.enqueue(job, {})
    await t.drain()
    expect(lines).toMatchObject([
      [{ event: 'result.dropped', jobId, why: `the result was not kept: ${why}` }, 'result of a job was not kept'],
    ])
  })

  test('logs and reports progress while it runs', async () => {
    let go = (): void => {}
    const job = defineJob({
      name: 'talkative',
      async run(_payload: unknown, context) {
        context.log('begun', { step: 1 })
        context.progress({ done: 10, of: 100 })
        await new Promise<void>(resolve => {
          go = resolve
        })
        context.log('ended')
      },
    })
    await using t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.advance('1s', { despite: 'handlers' })
    expect(await t.jobs.get(id)).toMatchObject({ state: 'running', progress: { done: 10, of: 100 } })
    expect((await t.jobs.logs(id)).data.map(line => line.message)).toEqual(['begun'])
    go()
    await t.drain()
    expect((await t.jobs.logs(id)).data.map(line => [line.run, line.message, line.data])).toEqual([
      [1, 'begun', { step: 1 }],
      [1, 'ended', undefined],
    ])
  })
})
