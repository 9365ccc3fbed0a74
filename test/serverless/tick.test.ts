import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Ticker, type TickOptions, type TickReport } from '../../src/engine/client/ticker.js'
import { createChronos, defineJob, type JobDefinition } from '../../src/index.js'
import { tick } from '../../src/serverless.js'
import { type TestChronos, testChronos } from '../../src/testing.js'

const SECRET = 'the-secret-of-the-cron'

const quick = defineJob({ name: 'quick', timeout: '5s', run: () => 'done' })

/** A Chronos without a worker, on virtual time. */
async function ticking(
  jobs: readonly JobDefinition<never>[],
  options: Partial<TickOptions> = {},
): Promise<{ t: TestChronos; tickOnce: () => Promise<TickReport> }> {
  const t = testChronos({ jobs: [] })
  onTestFinished(() => t.close())
  await t.worker.stop()
  const ticker = new Ticker(t.chronos, jobs, { within: '60s', ...options }, t.clock)
  return { t, tickOnce: () => t.clock.passUntil(ticker.run()) }
}

const stateOf = async (t: TestChronos, id: string): Promise<unknown> => (await t.jobs.get(id))?.state

describe('tick', () => {
  it('runs what is due, and ends when there is nothing left', async () => {
    const { t, tickOnce } = await ticking([quick])
    const ids = await Promise.all([1, 2, 3].map(async () => (await t.enqueue(quick, undefined)).id))
    const report = await tickOnce()
    expect(report).toMatchObject({ started: 3, succeeded: 3, failed: 0, released: 0 })
    expect(report.durationMs).toBeLessThan(2_500)
    for (const id of ids) expect(await stateOf(t, id)).toBe('succeeded')
  })

  it('retries in a later run', async () => {
    let fails = true
    const flaky = defineJob({
      name: 'flaky',
      timeout: '5s',
      retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '1m' }, jitter: 'none' },
      run() {
        if (fails) throw new Error('down')
      },
    })
    const { t, tickOnce } = await ticking([flaky])
    const { id } = await t.enqueue(flaky, undefined)
    expect(await tickOnce()).toMatchObject({ started: 1, failed: 1 })
    fails = false
    await t.advance('1m')
    expect(await tickOnce()).toMatchObject({ succeeded: 1 })
    expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
  })

  it('makes the jobs of schedules', async () => {
    const { t, tickOnce } = await ticking([quick])
    await t.chronos.schedules.put('hourly', { job: quick, every: '1h' })
    await t.advance('61m')
    expect((await tickOnce()).succeeded).toBeGreaterThan(0)
  })

  it('claims for 80 % of its time, and hands the rest back at no cost', async () => {
    const slow = defineJob({ name: 'slow', timeout: '20s', run: (_: unknown, job) => job.clock.wait('15s') })
    const { t, tickOnce } = await ticking([slow], { concurrency: 1 })
    const ids: string[] = []
    for (let i = 0; i < 10; i++) ids.push((await t.enqueue(slow, undefined)).id)
    const began = t.clock.now()
    const report = await tickOnce()
    expect(report).toMatchObject({ succeeded: report.started })
    expect(report.started).toBeGreaterThan(1)
    expect(t.clock.now() - began).toBeLessThanOrEqual(60_000)
    const starts: number[] = []
    for (const id of ids) {
      const { data } = await t.jobs.history(id)
      for (const run of data) starts.push(Date.parse(run.startedAt) - began)
      const job = await t.jobs.get(id)
      if (job?.state !== 'succeeded') expect(job).toMatchObject({ state: 'waiting', attempt: 0 })
    }
    expect(Math.max(...starts)).toBeLessThanOrEqual(48_000)
  })

  it('does not begin a job whose timeout exceeds what is left', async () => {
    const slow = defineJob({ name: 'slow', timeout: '40s', run: (_: unknown, job) => job.clock.wait('30s') })
    const { t, tickOnce } = await ticking([slow], { concurrency: 1 })
    const ids = [await t.enqueue(slow, undefined), await t.enqueue(slow, undefined)].map(({ id }) => id)
    expect(await tickOnce()).toMatchObject({ started: 1, succeeded: 1 })
    const [, second] = await Promise.all(ids.map(id => t.jobs.get(id)))
    expect(second).toMatchObject({ state: 'waiting', attempt: 0, run: 0 })
    await t.advance('1m')
    expect(await tickOnce()).toMatchObject({ succeeded: 1 })
  })

  it('releases a handler that ignores the end of its time', async () => {
    const stuck = defineJob({ name: 'stuck', timeout: '50s', run: () => new Promise(() => {}) })
    const t = testChronos({ jobs: [] })
    onTestFinished(() => t.close())
    await t.worker.stop()
    const ticker = new Ticker(t.chronos, [stuck], { within: '60s' }, t.clock)
    const { id } = await t.enqueue(stuck, undefined)
    const began = t.clock.now()
    const report = await t.clock.passUntil(ticker.run(), { despite: 'handlers' })
    expect(report).toMatchObject({ started: 1, succeeded: 0 })
    expect(t.clock.now() - began).toBeLessThanOrEqual(60_000)
    expect(await stateOf(t, id)).toBe('waiting')
  })

  it('loses nothing when it is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chronos-tick-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const store = `sqlite:${join(folder, 'chronos.db')}`
    const chronos = createChronos({ store, log: false })
    onTestFinished(() => chronos.close())
    const { id } = await chronos.enqueue('charge', undefined)
    const platform = fileURLToPath(new URL('./function.js', import.meta.url))
    const killed = fork(platform, [store, 'hang'])
    expect(await once(killed, 'message')).toEqual(['started', undefined])
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'running' })
    const said: unknown[] = []
    // The lease of the killed process may not be over yet; cron calls again.
    while (said.at(-1) !== 'started') {
      const next = fork(platform, [store, 'finish'])
      next.on('message', message => said.push(...(message === 'started' ? [message] : [])))
      await once(next, 'exit')
    }
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'succeeded', result: 'charged', attempt: 2 })
    expect(await chronos.verify()).toMatchObject({ isSound: true })
  })
})

describe('the Fetch handler of tick', () => {
  const handler = (secret?: string): ((authorization?: string) => Promise<Response>) => {
    const chronos = createChronos({ store: 'memory:', log: false })
    onTestFinished(() => chronos.close())
    const { fetch } = tick(chronos, [quick], { within: '10s', ...(secret !== undefined && { secret }) })
    return authorization =>
      fetch(new Request('https://shop.example/api/tick', { headers: authorization ? { authorization } : {} }))
  }

  it('runs with the secret, and returns the report', async () => {
    const response = await handler(SECRET)(`Bearer ${SECRET}`)
    expect([response.status, await response.json()]).toMatchObject([200, { started: 0 }])
  })

  it.each([undefined, 'Bearer wrong', `Basic ${SECRET}`, `Bearer ${SECRET}x`])('refuses %j', async authorization => {
    const response = await handler(SECRET)(authorization)
    expect([response.status, await response.json()]).toMatchObject([401, { code: 'UNAUTHENTICATED' }])
  })

  it('refuses every request while it has no secret', async () => {
    expect((await handler()('Bearer undefined')).status).toBe(500)
  })
})

describe('the options of tick', () => {
  const chronos = createChronos({ store: 'memory:', log: false })

  it.each([
    [[quick], { within: '1s' }, 'tick: within'],
    [[quick], { within: '10s', secret: 'short' }, 'tick: secret: expected at least 16 characters, got 5'],
    [[quick], { within: '10s', wihtin: 1 }, 'within'],
    [[defineJob({ name: 'long', run: () => 1 })], { within: '50s' }, 'job "long" has a timeout of 15m'],
  ])('%#: refuses what can not work', (jobs, options, says) => {
    expect(() => tick(chronos, jobs, options as TickOptions)).toThrow(says)
  })
})
