import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type ChronosError,
  createChronos,
  defineJob,
  fixed,
  type JobDefinition,
  type WorkOptions,
} from '../../../src/index.js'
import { type TestChronos, testChronos } from '../../../src/testing.js'

const handler = (name: string): URL => new URL(`./handlers/${name}.js`, import.meta.url)
const retry = fixed({ delay: '1m', maxRetries: 2, jitter: 'none' })

const behave = defineJob<string>({ name: 'behave', thread: handler('behave'), timeout: '5m', retry })

function chronosWith(jobs: readonly JobDefinition<never>[], work: WorkOptions = {}): TestChronos {
  const t = testChronos({ jobs, work })
  onTestFinished(() => t.close())
  return t
}

/** The job after everything that is due has run. */
async function ran(what: string): Promise<{ t: TestChronos; id: string; job: Awaited<ReturnType<typeof see>> }> {
  const t = chronosWith([behave])
  const { id } = await t.enqueue(behave, what)
  await t.clock.settle()
  return { t, id, job: await see(t, id) }
}

const see = async (t: TestChronos, id: string): Promise<NonNullable<Awaited<ReturnType<TestChronos['jobs']['get']>>>> =>
  (await t.jobs.get(id))!

/** Resolves when this job has started, whether before or after the call. */
function startsOf(t: TestChronos): (id: string) => Promise<void> {
  const [seen, waiting] = [new Set<string>(), new Map<string, () => void>()]
  t.on('job.started', ({ job }) => {
    seen.add(job.id)
    waiting.get(job.id)?.()
  })
  return id => (seen.has(id) ? Promise.resolve() : new Promise(resolve => waiting.set(id, resolve)))
}

describe('a handler in a thread', () => {
  it('has the same job as any other', async () => {
    const everything = defineJob<{ n: number }>({
      name: 'everything',
      thread: handler('everything'),
      queue: 'cpu',
      timeout: '3h',
      retry,
    })
    const t = chronosWith([everything])
    await t.queues.set('cpu', { partitions: { units: { tokens: '100/h' } } })
    const units = { tokens: 1 }
    const { id } = await t.enqueue(everything, { n: 3 }, { tenantId: 'acme', tags: ['x'], key: 'k', units })
    await t.advance('3h')
    const job = await see(t, id)
    expect(job).toMatchObject({ state: 'succeeded', progress: { done: 3 } })
    expect(job.result).toMatchObject({
      facts: { id, name: 'everything', queue: 'cpu', tenantId: 'acme', tags: ['x'], key: 'k', attempt: 1 },
      createdAt: job.createdAt,
      first: { charged: 3 },
      again: { charged: 3 },
      isAborted: false,
      before: true,
      turn: { partition: 'acme', units },
    })
    expect((await t.jobs.history(id)).data).toMatchObject([{ note: 'halfway', status: 'succeeded' }])
    expect((await t.jobs.logs(id)).data).toMatchObject([{ message: 'began', data: { n: 3 } }])
    // It has spent 300 tokens, so the next one has to wait.
    const next = await t.enqueue(everything, { n: 3 }, { tenantId: 'acme', units })
    await t.advance('1s')
    expect(await see(t, next.id)).toMatchObject({ blockedBy: 'rate' })
  })

  it('runs outside of the main thread, and reuses its thread', async () => {
    const t = chronosWith([behave])
    const ids = [await t.enqueue(behave, ''), await t.enqueue(behave, '', { delay: '1m' })].map(({ id }) => id)
    await t.advance('2m')
    const [first, second] = await Promise.all(ids.map(id => see(t, id)))
    expect(first!.result).toBeGreaterThan(0)
    expect(second!.result).toBe(first!.result)
  })

  it('fails with its own error, which the policy reads', async () => {
    const { job } = await ran('card')
    expect(job).toMatchObject({
      state: 'waiting',
      error: { name: 'CardError', code: 'E_CARD', status: 402, message: 'declined; caused by: TypeError: inner' },
    })
    expect(job.error!.stack).toContain('behave.js')
  })

  it('dies at once of a PermanentError', async () => {
    expect((await ran('refused')).job).toMatchObject({
      state: 'dead',
      reason: 'permanent',
      error: { message: 'never' },
    })
  })

  it('is retried when the response says so', async () => {
    const { job, t } = await ran('limited')
    expect(job).toMatchObject({ state: 'waiting', error: { status: 429 } })
    expect(Date.parse(job.runAt) - t.clock.now()).toBeGreaterThanOrEqual(120_000)
  })

  it('may throw a text, snooze, and return what is not JSON', async () => {
    expect((await ran('text')).job).toMatchObject({ state: 'waiting', error: { message: 'just text' } })
    const { t, id, job } = await ran('snooze')
    expect(job).toMatchObject({ state: 'waiting', attempt: 0 })
    await t.advance('11m')
    expect(await see(t, id)).toMatchObject({ state: 'succeeded', result: 'rested' })
    const unsent = await ran('function')
    expect(unsent.job.state).toBe('succeeded')
    expect((await unsent.t.jobs.history(unsent.id)).data[0]!.note).toContain('the result was not kept')
  })

  it('gets the error of its own effect back', async () => {
    expect((await ran('once-fails')).job).toMatchObject({ state: 'succeeded', result: true })
  })

  it('can not complete a transaction of another thread', async () => {
    const { job } = await ran('complete')
    expect(job.error!.message).toContain('a transaction can not leave its thread')
  })

  it.each([
    ['exit', 'exit code 7'],
    ['crash', 'no code awaits this'],
  ])('that ends its thread (%s) fails its attempt only', async (what, says) => {
    const { t, id, job } = await ran(what)
    expect(job).toMatchObject({ state: 'waiting', attempt: 1, error: { name: 'ThreadError', code: 'THREAD_ENDED' } })
    expect(job.error!.message).toContain(says)
    const { id: next } = await t.enqueue(behave, '')
    await t.clock.settle()
    expect(await see(t, next)).toMatchObject({ state: 'succeeded' })
    await t.advance('10m')
    expect(await see(t, id)).toMatchObject({ state: 'dead', reason: 'exhausted' })
  })

  it('names a module that does not exist, or exports no handler', async () => {
    const t = chronosWith([])
    for (const [name, says] of [
      ['nosuch', 'nosuch.js'],
      ['nothing', 'exports no function'],
    ] as const) {
      const job = defineJob<string>({ name, thread: handler(name), retry })
      t.chronos.work([job], { signals: false })
      const { id } = await t.enqueue(job, '')
      await t.clock.settle()
      expect((await see(t, id)).error!.message).toContain(says)
    }
  })
})

describe('an interrupted handler in a thread', () => {
  it('in an endless loop is terminated at its timeout', async () => {
    const t = chronosWith([behave])
    const { id } = await t.enqueue(behave, 'loop')
    await t.advance('5m', { despite: 'handlers' })
    await t.advance('1s', { despite: 'handlers' })
    await t.clock.settle()
    expect((await t.jobs.history(id)).data).toMatchObject([{ status: 'timed-out', error: { name: 'TimeoutError' } }])
    const { id: next } = await t.enqueue(behave, '')
    await t.clock.settle()
    expect(await see(t, next)).toMatchObject({ state: 'succeeded' })
  })

  it('hears its signal before it is terminated', async () => {
    const t = chronosWith([behave])
    const { id } = await t.enqueue(behave, 'wait')
    await t.advance('5m', { despite: 'handlers' })
    await t.clock.settle()
    expect((await t.jobs.history(id)).data).toMatchObject([{ status: 'timed-out' }])
  })

  it('is terminated when its worker stops, and its job is released', async () => {
    const chronos = createChronos({ store: 'memory:', log: false })
    onTestFinished(() => chronos.close())
    const worker = chronos.work([behave], { signals: false, grace: 1 })
    const started = new Promise(resolve => chronos.on('job.started', resolve))
    const { id } = await chronos.enqueue(behave, 'loop')
    await started
    await worker.stop()
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  })
})

describe('the pool of threads', () => {
  it('runs no more than its maximum at once; waiting is not part of a run', async () => {
    const single = defineJob<string>({
      name: 'single',
      thread: handler('behave'),
      timeout: '5m',
      retry: { maxRetries: 0 },
    })
    const t = chronosWith([single], { threads: 1, concurrency: 3 })
    const started = startsOf(t)
    const ids: string[] = []
    for (const what of ['loop', 'loop', '']) ids.push((await t.enqueue(single, what)).id)
    for (const [at, id] of ids.entries()) {
      if (at > 0) {
        await t.advance('5m', { despite: 'handlers' })
        await t.advance('1s', { despite: 'handlers' })
      }
      await started(id)
    }
    await t.clock.settle()
    const runs = await Promise.all(ids.map(async id => (await t.jobs.history(id, { order: 'oldest' })).data[0]!))
    expect(runs.map(({ status }) => status)).toEqual(['timed-out', 'timed-out', 'succeeded'])
    const starts = runs.map(({ startedAt }) => Date.parse(startedAt))
    expect(starts[1]! - starts[0]!).toBeGreaterThanOrEqual(300_000)
  })

  it('gives jobs back that wait for a thread when the worker stops', async () => {
    const chronos = createChronos({ store: 'memory:', log: false })
    onTestFinished(() => chronos.close())
    const worker = chronos.work([behave], { signals: false, grace: 1, threads: 1 })
    const started = new Promise(resolve => chronos.on('job.started', resolve))
    await chronos.enqueue(behave, 'loop')
    await started
    const { id } = await chronos.enqueue(behave, '')
    await worker.stop()
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
    expect((await chronos.verify()).isSound).toBe(true)
  })
})

describe('a definition with a thread', () => {
  const refused = (options: object): ChronosError => {
    try {
      defineJob(options as never)
    } catch (error) {
      return error as ChronosError
    }
    throw new Error('was accepted')
  }

  it.each([
    [{ thread: './resize.js' }, 'expected the file URL of a module'],
    [{ thread: 'https://example.com/resize.js' }, 'expected the file URL of a module'],
    [{ thread: handler('behave'), run: () => 1 }, 'give run or thread, not both'],
    [{ thread: handler('behave'), tmeout: '1s' }, 'timeout'],
  ])('%j is refused', (options, says) => {
    expect(refused({ name: 'resize', ...options }).message).toContain(says)
  })
})
