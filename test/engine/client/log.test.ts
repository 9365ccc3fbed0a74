import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { EventName } from '../../../src/core/job/event.js'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { logOf } from '../../../src/engine/client/log.js'
import { testChronos } from '../../../src/testing.js'

/** A job that fails twice, for a tenant, and what was written about it. */
async function failTwice(maxRetries: number) {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'debug' }, { write: line => void lines.push(JSON.parse(line) as Record<string, unknown>) })
  let runs = 0
  const job = defineJob({
    name: 'mail',
    queue: 'mails',
    retry: fixed({ delay: '30s', maxRetries, jitter: 'none' }),
    async run(_payload: { secret: string }) {
      if (++runs <= 2) throw Object.assign(new Error('SMTP timeout'), { code: 'ETIMEDOUT' })
    },
  })
  const t = testChronos({ jobs: [job], log })
  const heard: string[] = []
  const names: EventName[] = [
    'job.enqueued',
    'job.started',
    'job.retrying',
    'job.succeeded',
    'job.dead',
    'attempt.failed',
  ]
  for (const name of names) t.on(name, () => void heard.push(name))
  const { id } = await t.enqueue(job, { secret: 'hunter2' }, { tenantId: 'acme' })
  await t.drain()
  await t.close()
  return { id, lines, heard, of: (event: string) => lines.filter(line => line['event'] === event) }
}

test('R34, R44: every retry is one line with tenant, job, attempt, retry i of n, delay and time', async () => {
  const { id, of } = await failTwice(3)
  const retries = of('job.retrying')
  expect(retries).toHaveLength(2)
  expect(retries[0]).toMatchObject({
    level: 40,
    msg: 'job failed, scheduling retry',
    tenantId: 'acme',
    jobId: id,
    name: 'mail',
    queue: 'mails',
    attempt: 1,
    retry: 1,
    maxRetries: 3,
    delayMs: 30_000,
    nextRunAt: '2026-01-01T00:00:30.000Z',
    error: { name: 'Error', message: 'SMTP timeout', code: 'ETIMEDOUT' },
  })
  expect(retries[1]).toMatchObject({ attempt: 2, retry: 2, nextRunAt: '2026-01-01T00:01:00.000Z' })
  expect(of('job.succeeded')).toMatchObject([{ level: 20, jobId: id, attempt: 3 }])
})

test('R34: a death is one line with its reason and why', async () => {
  const { id, of } = await failTwice(1)
  expect(of('job.dead')).toMatchObject([
    {
      level: 50,
      msg: 'job failed, moved to dead letters',
      jobId: id,
      tenantId: 'acme',
      attempt: 2,
      reason: 'exhausted',
      why: 'died: its one retry is used',
    },
  ])
})

test('a listener that changes the error of an event changes no record', async () => {
  const job = defineJob({
    name: 'mail',
    retry: fixed({ delay: '1s', maxRetries: 2, jitter: 'none' }),
    async run(_: unknown) {
      throw Object.assign(new Error('SMTP timeout'), { stack: 'Error: SMTP timeout\n    at send' })
    },
  })
  const t = testChronos({ jobs: [job] })
  const spoil = ({ error }: { readonly error?: { readonly message: string } }) => {
    if (error) Object.assign(error, { message: 'spoiled' })
  }
  t.on('attempt.failed', spoil)
  t.on('job.retrying', spoil)
  const { id } = await t.enqueue(job, {})
  await t.drain()
  const { data } = await t.jobs.history(id)
  expect(data.map(({ error }) => error?.message)).toEqual(['SMTP timeout', 'SMTP timeout', 'SMTP timeout'])
  await t.close()
})

test('payloads are not logged', async () => {
  const { lines } = await failTwice(3)
  expect(JSON.stringify(lines)).not.toContain('hunter2')
})

test('events come in the order of what happened', async () => {
  const { heard } = await failTwice(3)
  expect(heard).toEqual([
    'job.enqueued',
    'job.started',
    'attempt.failed',
    'job.retrying',
    'job.started',
    'attempt.failed',
    'job.retrying',
    'job.started',
    'job.succeeded',
  ])
})

const FIELDS = { event: 'store.unavailable', url: 'postgres://app:secret@db/x' }
const SHOWN = { event: 'store.unavailable', url: 'postgres://[redacted]@db/x' }

test('console gets the message first, and no secrets', () => {
  const lines: unknown[] = []
  const like = { ...console, warn: (...line: unknown[]) => void lines.push(line) }
  logOf(like).warn(FIELDS, 'store unavailable')
  expect(lines).toEqual([['store unavailable', SHOWN]])
  expect(() => logOf(console)).not.toThrow()
})

test('winston gets the message first, and decides about levels', () => {
  const lines: unknown[] = []
  const write = (...line: unknown[]) => void lines.push(line)
  const winston = {
    ...{ debug: write, info: write, warn: write, error: write },
    ...{ transports: [], configure: () => undefined, isLevelEnabled: (level: string) => level !== 'debug' },
  }
  const log = logOf(winston)
  log.error(FIELDS, 'store unavailable')
  expect(lines).toEqual([['store unavailable', SHOWN]])
  expect(['debug', 'info'].map(level => log.isLevelEnabled(level))).toEqual([false, true])
})

test('pino is used as it is', () => {
  const logger = pino({ level: 'silent' })
  expect(logOf(logger)).toBe(logger)
})

test('a logger without isLevelEnabled gets every line, and no lease is lost', async () => {
  const lines: string[] = []
  const write = ({ event }: { event?: string }): void => void lines.push(String(event))
  const log = { debug: write, info: write, warn: write, error: write }
  const job = defineJob({ name: 'noop', run: async (_payload: unknown) => undefined })
  await using t = testChronos({ jobs: [job], log })
  const lost: unknown[] = []
  t.on('lease.lost', event => lost.push(event))
  const { id } = await t.enqueue(job)
  await t.drain()
  expect([lines, lost]).toEqual([['job.succeeded'], []])
  expect((await t.jobs.get(id))?.state).toBe('succeeded')
  expect(t.worker.getStats()).toMatchObject({ succeeded: 1, leasesLost: 0 })
})

test('a logger without a method that is used is refused', () => {
  const log = { info: () => undefined } as never
  expect(() => testChronos({ jobs: [], log })).toThrow(
    'log: expected a logger with debug, info, warn and error, or false; debug is missing',
  )
})

test('an error in a listener is logged and affects nothing else', async () => {
  const lines: string[] = []
  const log = pino({}, { write: line => void lines.push(line) })
  const job = defineJob({ name: 'noop', run: async (_payload: unknown) => undefined })
  await using t = testChronos({ jobs: [job], log })
  const off = t.on('job.succeeded', () => {
    throw new Error('listener trouble')
  })
  const { id } = await t.enqueue(job)
  await t.drain()
  expect((await t.jobs.get(id))?.state).toBe('succeeded')
  expect(lines.join()).toContain('listener trouble')
  off()
  const before = lines.length
  await t.enqueue(job)
  await t.drain()
  expect(lines).toHaveLength(before)
})
