import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { ScheduleForm } from '../../../src/core/schedule/form.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'
import { type Heard, hear, startReceiver } from '../../support/receiver.js'
import { STORES } from '../../support/stores.js'

/** The requirements' examples, against a server that fails as told; calls in seconds from the first one. */
async function example(
  open: (typeof STORES)[number][1],
  form: Omit<ScheduleForm, 'api'>,
  statusOf: (call: number) => number,
  startAt?: Date,
) {
  const calls: number[] = []
  const keys: unknown[] = []
  const receiver = await startReceiver((request, response) => {
    calls.push(t.clock.now() / 1_000)
    keys.push(request.headers['idempotency-key'])
    response.writeHead(statusOf(calls.length)).end()
  })
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line) as Record<string, unknown>) })
  const idle = defineJob({ name: 'idle', run: () => undefined })
  const t = testChronos({
    jobs: [idle],
    store: open,
    log,
    egress: { allow: ['loopback'] },
    ...(startAt && { startAt }),
  })
  const pass = (ms: number): Promise<void> => t.advance(ms)
  const created = await t.chronos.schedules.create({ ...form, api: `${receiver.origin}/webhook` })
  const close = async (): Promise<void> => {
    await t.close()
    await receiver.close()
  }
  const fromFirst = () => calls.map(at => at - calls[0]!)
  const { id } = created.schedule
  return { t, pass, id, ...created, schedules: t.chronos.schedules, fromFirst, keys, lines, close }
}

describe.each(STORES)('R33 on %s', (_, open) => {
  it('example 1: T+0, +1, +3, +7, then the next occurrence', async () => {
    const form = { schedule: '*/10 * * * * *', type: 'AT_LEAST_ONCE', isRecurring: true, maxRetryCount: 3 } as const
    const { pass, id, schedules, fromFirst, keys, lines, warnings, close } = await example(open, form, call =>
      call <= 4 ? 404 : 200,
    )
    await pass(25_000)
    expect(fromFirst()).toEqual([0, 1, 3, 7, 10])
    expect(new Set(keys.slice(0, 4)).size).toBe(1)
    expect(keys[4]).not.toBe(keys[0])
    expect(warnings).toEqual([])
    expect(lines.filter(line => line['event'] === 'job.retrying')).toMatchObject([
      { retry: 1, maxRetries: 3, delayMs: 1_000, nextRunAt: '2026-01-01T00:00:11.000Z' },
      { retry: 2, maxRetries: 3, delayMs: 2_000, nextRunAt: '2026-01-01T00:00:13.000Z' },
      { retry: 3, maxRetries: 3, delayMs: 4_000, nextRunAt: '2026-01-01T00:00:17.000Z' },
    ])
    expect(lines.filter(line => line['event'] === 'job.dead')).toMatchObject([
      { reason: 'exhausted', scheduleId: id, nextOccurrenceAt: '2026-01-01T00:00:20.000Z' },
    ])
    expect(await schedules.get(id)).toMatchObject({ state: 'active', fired: 2, skipped: 0 })
    const { data } = await schedules.history(id, { limit: 10 })
    expect(data.map(({ label, status }) => `${label} ${status}`)).toEqual([
      'Initial succeeded',
      'Retry #3 failed',
      'Retry #2 failed',
      'Retry #1 failed',
      'Initial failed',
    ])
    await close()
  })

  it('example 2: at most once fails once, is not retried, and the schedule has ended', async () => {
    const form = { schedule: '0 0 12 * * *', type: 'AT_MOST_ONCE', isRecurring: false, maxRetryCount: 5 } as const
    const beforeNoon = new Date('2026-01-01T11:50:00Z')
    const { t, pass, id, schedules, fromFirst, warnings, close } = await example(open, form, () => 500, beforeNoon)
    // To the noon of the next day, and past it.
    await pass(86_400_000 + 1_200_000)
    expect(fromFirst()).toEqual([0])
    expect(warnings).toEqual(['AT_MOST_ONCE runs once and is never retried, so maxRetryCount 5 has no effect'])
    expect(await schedules.get(id)).toMatchObject({ state: 'ended', fired: 1, endedAt: '2026-01-01T12:00:00.000Z' })
    const { data } = await t.jobs.list({ scheduleId: id })
    expect(data).toMatchObject([{ state: 'dead', reason: 'failed', delivery: 'at-most-once' }])
    await close()
  })

  it('example 3: success on retry 2, then the next occurrence', async () => {
    const form = { schedule: '*/5 * * * * *', type: 'AT_LEAST_ONCE', isRecurring: true, maxRetryCount: 2 } as const
    const { pass, id, schedules, fromFirst, close } = await example(open, form, call => (call <= 2 ? 302 : 204))
    await pass(12_000)
    expect(fromFirst()).toEqual([0, 1, 3, 5])
    expect(await schedules.get(id)).toMatchObject({ state: 'active', fired: 2, skipped: 0 })
    await close()
  })

  it.each([
    ['a TLS failure', 'https'],
    ['a refused connection', 'http'],
  ])('retries after %s: T+0, +1, +3, +7', async (what, scheme) => {
    const receiver = await startReceiver((_, response) => void response.end())
    if (what === 'a refused connection') await receiver.close()
    const t = testChronos({ jobs: [], store: open, egress: { allow: ['loopback'] } })
    const api = `${scheme}://127.0.0.1:${receiver.port}/webhook`
    const { schedule } = await t.chronos.schedules.create({ schedule: '*/20 * * * * *', api })
    await t.advance(30_000)
    const { data } = await t.chronos.schedules.history(schedule.id, { order: 'oldest' })
    const first = Date.parse(data[0]!.startedAt)
    expect(data.map(({ startedAt }) => (Date.parse(startedAt) - first) / 1_000)).toEqual([0, 1, 3, 7])
    expect(data.map(({ error }) => error?.code)).toEqual(
      Array(4).fill(scheme === 'https' ? expect.stringMatching(/^(ERR_SSL|EPROTO)/) : 'ECONNREFUSED'),
    )
    await t.close()
    if (what !== 'a refused connection') await receiver.close()
  })

  it('sends the method, headers and body that were posted, for its tenant', async () => {
    const heard: Heard[] = []
    await using receiver = await startReceiver(async (request, response) => {
      heard.push(await hear(request))
      response.end()
    })
    const t = testChronos({ jobs: [], store: open, egress: { allow: ['loopback'] } })
    const { schedule } = await t.chronos.schedules.create({
      schedule: '*/10 * * * * *',
      api: receiver.origin,
      tenantId: 'acme',
      method: 'PUT',
      headers: { 'X-Shop': 'north' },
      body: { ping: 1 },
    })
    await t.advance(10_000)
    expect(heard).toMatchObject([{ method: 'PUT', headers: { 'x-shop': 'north' }, body: '{"ping":1}' }])
    expect((await t.jobs.list({ tenantId: 'acme' })).data).toMatchObject([{ scheduleId: schedule.id }])
    await t.close()
  })
})
