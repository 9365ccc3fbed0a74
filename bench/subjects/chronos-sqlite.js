import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { batches, payload } from '../payload.js'
import { pause, percentile, sample } from '../sample.js'

/**
 * Chronos as a user gets it: SQLite with synchronous=FULL, the attempt log kept, and its default log, which goes to
 * stderr and from there to a file. The package as it was built, with the types of its source.
 *
 * @typedef {typeof import('../../src/index.js')} Package
 * @typedef {ReturnType<Package['createChronos']>} Chronos
 */
const built = new URL('../../dist/index.js', import.meta.url).href
const { createChronos, defineJob, fixed } = /** @type {Package} */ (await import(built))

/** @param {string} file */
function open(file) {
  return createChronos({ store: `sqlite:${file}` })
}

/** @param {{ file: string, jobs: number }} options */
export async function fill({ file, jobs }) {
  const chronos = open(file)
  for (const batch of batches(jobs)) await chronos.enqueueMany('noop', batch)
  await chronos.close()
}

/**
 * Finished jobs beside the waiting ones. They really ran, so that the file looks as it would in use.
 *
 * @param {{ file: string, jobs: number, finished: number }} options
 */
export async function fillBesideFinished({ file, jobs, finished }) {
  await fill({ file, jobs: finished })
  await drain({ file, jobs: finished, concurrency: 100 })
  await fill({ file, jobs })
}

/** @param {{ file: string, jobs: number, future: number }} options */
export async function fillBesideFuture({ file, jobs, future }) {
  const chronos = open(file)
  for (const batch of batches(future)) await chronos.enqueueMany('noop', batch, { priority: 9, delay: '7d' })
  await chronos.close()
  await fill({ file, jobs })
}

/** @param {{ file: string, jobs: number, concurrency: number }} options */
export async function drain({ file, jobs, concurrency }) {
  return drainRuns({ file, jobs, concurrency, runsPerJob: 1 })
}

/** @param {{ file: string, jobs: number, concurrency: number }} options */
export async function drainFailingOnce({ file, jobs, concurrency }) {
  return drainRuns({ file, jobs, concurrency, runsPerJob: 2 })
}

/**
 * Jobs whose last run succeeds and whose others fail. The clock stops when every run has ended in the store: as many
 * handlers have started as there are runs to make, and none is running any more.
 *
 * @param {{ file: string, jobs: number, concurrency: number, runsPerJob: number }} options
 */
async function drainRuns({ file, jobs, concurrency, runsPerJob }) {
  const chronos = open(file)
  const succeededBefore = await count(chronos, 'succeeded')
  const runs = jobs * runsPerJob
  let started = 0
  /** @type {() => void} */
  let finish
  const allStarted = new Promise(resolve => {
    finish = () => resolve(undefined)
  })
  const noop = defineJob({
    name: 'noop',
    retry: fixed({ delay: 0, maxRetries: runsPerJob - 1, jitter: 'none' }),
    async run(_payload, job) {
      started++
      if (started === runs) finish()
      if (job.attempt < runsPerJob) throw new Error('the first run fails')
    },
  })

  /** @type {ReturnType<Chronos['work']> | undefined} */
  let worker
  const result = await sample(jobs, async () => {
    worker = chronos.work([noop], { concurrency })
    await allStarted
    while ((await count(chronos, 'running')) > 0) await pause(1)
  })
  await worker?.stop()
  const succeeded = (await count(chronos, 'succeeded')) - succeededBefore
  await chronos.close()
  if (succeeded !== jobs || started !== runs) {
    throw new Error(`expected ${jobs} jobs in ${runs} runs, got ${succeeded} in ${started}`)
  }
  return result
}

/**
 * @param {Chronos} chronos
 * @param {'running' | 'succeeded'} state
 */
async function count(chronos, state) {
  const { value } = await chronos.jobs.count({ state }, Number.MAX_SAFE_INTEGER)
  return value
}

/** @param {{ file: string, jobs: number, inFlight: number }} options */
export async function enqueue({ file, jobs, inFlight }) {
  const chronos = open(file)
  const noop = defineJob({ name: 'noop', async run() {} })
  let next = 0
  async function caller() {
    while (next < jobs) await chronos.enqueue(noop, payload(next++))
  }
  const result = await sample(jobs, async () => {
    await Promise.all(Array.from({ length: inFlight }, caller))
  })
  await chronos.close()
  return result
}

/** @param {{ file: string, times: number }} options */
export async function latency({ file, times }) {
  const chronos = open(file)
  /** @type {(at: bigint) => void} */
  let started = () => {}
  const noop = defineJob({ name: 'noop', run: async () => started(process.hrtime.bigint()) })
  const worker = chronos.work([noop])
  const result = await latencies(chronos, times, () => {
    return new Promise(resolve => {
      started = resolve
    })
  })
  await worker.stop()
  await chronos.close()
  return result
}

/**
 * This process enqueues, another one on the same file works and tells when it started; the monotonic clock is one
 * for all processes of a machine.
 *
 * @param {{ file: string, times: number }} options
 */
export async function latencyAcross({ file, times }) {
  const chronos = open(file)
  const child = fileURLToPath(new URL('../child.js', import.meta.url))
  const other = fork(child, ['chronos-sqlite', 'tellStarts', JSON.stringify({ file })])
  await once(other, 'message')
  const result = await latencies(chronos, times, async () => {
    const [startedAt] = await once(other, 'message')
    return BigInt(String(startedAt))
  })
  other.send('stop')
  await once(other, 'exit')
  await chronos.close()
  return result
}

/** @param {{ file: string }} options */
export async function tellStarts({ file }) {
  const chronos = open(file)
  const noop = defineJob({
    name: 'noop',
    async run() {
      const startedAt = process.hrtime.bigint()
      process.send?.(String(startedAt))
    },
  })
  const worker = chronos.work([noop])
  process.send?.('ready')
  await once(process, 'message')
  await worker.stop()
  await chronos.close()
}

/**
 * Enqueues one job at a time, with pauses that fall into step with nothing.
 *
 * @param {Chronos} chronos
 * @param {number} times
 * @param {() => Promise<bigint>} nextStart
 */
async function latencies(chronos, times, nextStart) {
  const warmUps = 20
  /** @type {number[]} */
  const measuredMs = []
  for (let i = -warmUps; i < times; i++) {
    await pause(5 + ((Math.abs(i) * 7) % 20))
    const start = nextStart()
    const enqueuedAt = process.hrtime.bigint()
    await chronos.enqueue('noop', payload(Math.abs(i)))
    const ms = Number((await start) - enqueuedAt) / 1e6
    if (i >= 0) measuredMs.push(ms)
  }
  return { p50Ms: percentile(measuredMs, 0.5), p99Ms: percentile(measuredMs, 0.99) }
}

/** @param {{ file: string, seconds: number }} options */
export async function idle({ file, seconds }) {
  const chronos = open(file)
  const worker = chronos.work([defineJob({ name: 'noop', async run() {} })])
  await pause(1_000)
  const result = await sample(1, () => pause(seconds * 1_000))
  await worker.stop()
  await chronos.close()
  return result
}
