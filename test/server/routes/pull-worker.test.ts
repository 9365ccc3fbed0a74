import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { LeaseView } from '../../../src/engine/leases/leases.js'
import { fixed } from '../../../src/index.js'
import { createServer } from '../../../src/server.js'
import { exitOf } from '../../support/process.js'
import { startServer, type TestServer } from '../server.js'

const TOKEN = 'a-token-of-the-configuration'
const AUTHORIZATION = { Authorization: `Bearer ${TOKEN}` }
const retry = fixed({ delay: '30ms', maxRetries: 3, jitter: 'none' })

interface Example {
  readonly command: string
  readonly script: string
  readonly by: string
  /** The error of a handler that is told to fail. */
  readonly error: string
}

const NODE: Example = { command: process.execPath, script: 'pull-worker.js', by: 'node', error: 'RangeError' }
const PYTHON: Example = { command: 'python3', script: 'pull-worker.py', by: 'python', error: 'ValueError' }

/** Why the example can't run here; undefined if it can. */
function obstacle({ command }: Example): string | undefined {
  const { error, status } = spawnSync(command, ['--version'])
  return error || status !== 0 ? `not run: ${command} is not installed` : undefined
}

interface WorkerProcess extends AsyncDisposable {
  readonly child: ChildProcess
  /** The next line of output. */
  line(): Promise<string>
}

async function startWorker({ command, script }: Example, url: string): Promise<WorkerProcess> {
  const path = fileURLToPath(new URL(`../../../examples/${script}`, import.meta.url))
  const env = { ...process.env, CHRONOS_URL: url, CHRONOS_TOKEN: TOKEN, QUEUES: 'sums,other', LEASE: '3s' }
  const child = spawn(command, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async (): Promise<string> => String((await lines.next()).value)
  expect(await line()).toContain(`:${child.pid}`)
  return {
    child,
    line,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exitOf(child)
    },
  }
}

const start = (): Promise<TestServer> => startServer({ token: TOKEN, chronos: { retry } })

async function enqueue(t: TestServer, payload: object): Promise<string> {
  const { id } = await t.chronos.enqueue('sum', payload, { queue: 'sums' })
  return id
}

function behaves(example: Example): void {
  it('fails, retries, completes, and names itself', async () => {
    await using t = await start()
    await using worker = await startWorker(example, t.url)
    const id = await enqueue(t, { numbers: [1, 2, 3], failures: 1 })
    expect([await worker.line(), await worker.line()]).toEqual([`${id} failed`, `${id} succeeded`])
    const { body } = await t.api('GET', `/jobs/${id}`, undefined, AUTHORIZATION)
    expect(body).toMatchObject({
      state: 'succeeded',
      result: { sum: 6, by: example.by },
      attempts: [
        { attempt: 2, status: 'succeeded', workerId: expect.stringContaining(`:${worker.child.pid}`) },
        {
          attempt: 1,
          status: 'failed',
          error: {
            name: example.error,
            message: 'attempt 1 was told to fail',
            stack: expect.stringContaining(example.script),
          },
        },
      ],
    })
  })

  it('continues after a lost lease', async () => {
    await using t = await start()
    const claimed = firstClaim(t)
    await using worker = await startWorker(example, t.url)
    const id = await enqueue(t, { seconds: 0.2 })
    const { token } = await claimed
    await t.chronos.leases.fail(id, { token, error: { message: 'by another worker', retryable: false } })
    expect(await worker.line()).toContain('is not held under this token any more')
    const next = await enqueue(t, { numbers: [4] })
    expect(await worker.line()).toBe(`${next} succeeded`)
  })

  it('renews its lease until its job is cancelled', async () => {
    await using t = await start()
    const extended = firstExtension(t)
    await using worker = await startWorker(example, t.url)
    const id = await enqueue(t, { seconds: 60 })
    await extended
    await t.chronos.jobs.cancel(id)
    expect(await worker.line()).toBe(`${id} cancelled`)
    expect(await t.chronos.jobs.get(id)).toMatchObject({ state: 'cancelled' })
  })

  it('waits for a server that is down', async () => {
    await using t = await start()
    await using worker = await startWorker(example, t.url)
    await t.server.close()
    const id = await enqueue(t, { numbers: [1] })
    const again = createServer(t.chronos, { log: false, dashboard: false, token: TOKEN })
    await again.listen({ port: Number(new URL(t.url).port) })
    expect(await worker.line()).toBe(`${id} succeeded`)
    await again.close()
  })

  it('finishes its running job on SIGTERM, then stops', async () => {
    await using t = await start()
    const extended = firstExtension(t)
    await using worker = await startWorker(example, t.url)
    const id = await enqueue(t, { seconds: 3, numbers: [1] })
    await extended
    worker.child.kill('SIGTERM')
    expect(await worker.line()).toBe('stopping')
    expect(await worker.line()).toBe(`${id} succeeded`)
    expect(await exitOf(worker.child)).toEqual({ code: 0, signal: null })
  })

  it('releases jobs that arrive after SIGTERM', async () => {
    await using t = await start()
    await using worker = await startWorker(example, t.url)
    while ((await t.chronos.workers()).length === 0) await new Promise(setImmediate)
    worker.child.kill('SIGTERM')
    expect(await worker.line()).toBe('stopping')
    const id = await enqueue(t, { numbers: [1] })
    expect(await worker.line()).toBe(`${id} released`)
    expect(await exitOf(worker.child)).toEqual({ code: 0, signal: null })
    expect(await t.chronos.jobs.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  })
}

/** The first lease that the server grants. */
function firstClaim({ chronos: { leases } }: TestServer): Promise<LeaseView> {
  return new Promise(resolve => {
    const claim = leases.claim.bind(leases)
    leases.claim = async options => {
      const given = await claim(options)
      if (given.data[0]) resolve(given.data[0])
      return given
    }
  })
}

/** The job has started. */
function firstExtension({ chronos: { leases } }: TestServer): Promise<void> {
  return new Promise(resolve => {
    const extend = leases.extend.bind(leases)
    leases.extend = (...given) => extend(...given).finally(resolve)
  })
}

it('an example without its interpreter is reported', () => {
  expect(obstacle({ ...PYTHON, command: 'no-such-python' })).toBe('not run: no-such-python is not installed')
})

describe('examples/pull-worker.js', () => behaves(NODE))

describe('examples/pull-worker.py', () => {
  const why = obstacle(PYTHON)
  if (why === undefined) behaves(PYTHON)
  else {
    console.warn(`examples/pull-worker.py ${why}`)
    it(why, () => expect(why).toBe('not run: python3 is not installed'))
  }
})
