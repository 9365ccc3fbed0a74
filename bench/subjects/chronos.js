import pg from 'pg'
import { idleFor } from '../idle.js'
import { latencies, otherProcess, Starts, teller, workingProcess } from '../latency.js'
import { batches, payload } from '../payload.js'
import { Runs, together } from '../runs.js'
import { pause, sample } from '../sample.js'

/**
 * Chronos as a user gets it: SQLite with synchronous=FULL or PostgreSQL with its defaults, the attempt log kept, and the
 * default log, which goes to stderr and from there to a file. The package as it was built, with the types of its source.
 *
 * @typedef {typeof import('../../src/index.js')} Package
 * @typedef {ReturnType<Package['createChronos']>} Chronos
 *
 * A file, or a database with the process id of its server, where that is known.
 *
 * @typedef {{ file?: string, url?: string, serverPid?: number }} Place
 */
const built = process.env['CHRONOS_BENCH_PACKAGE'] ?? new URL('../../dist/index.js', import.meta.url).href
const { createChronos, defineJob, fixed } = /** @type {Package} */ (await import(built))

/** @param {Place} place */
function open({ file, url = `sqlite:${file}` }, more = {}) {
  return createChronos({ store: url, ...more })
}

/** @param {Place & { jobs: number, large?: boolean }} options */
export async function fill({ jobs, large = false, ...place }) {
  const chronos = open(place)
  for (const batch of batches(jobs, { large })) await chronos.enqueueMany('noop', batch)
  await chronos.close()
}

/**
 * Jobs of many partitions, in turn, with the limits of their queue, and jobs that wait in a queue with limits beside it.
 *
 * @typedef {import('../../src/index.js').QueueLimits} QueueLimits
 * @typedef {Pick<QueueLimits, 'limit' | 'partitions'>} Limits
 * @param {Place & { jobs: number, partitions: number, limits?: Limits, beside?: number }} options
 */
export async function fillPartitions({ jobs, partitions, limits, beside = 0, ...place }) {
  const queues = {
    ...(limits && { default: limits }),
    ...(beside > 0 && { beside: { partitions: { concurrency: 1 } } }),
  }
  const chronos = open(place, { queues })
  /** @param {string} queue */
  const placed =
    queue =>
    /** @param {{ n: number }} payload */
    ({ n }) => ({ queue, partition: `acct-${n % partitions}` })
  for (const batch of batches(beside)) await chronos.enqueueMany('other', batch, placed('beside'))
  for (const batch of batches(jobs)) await chronos.enqueueMany('noop', batch, placed('default'))
  await chronos.close()
}

/** A queue whose partitions run one job at a time. */
const ONE_EACH = { queues: { default: { partitions: { concurrency: 1 } } } }

/**
 * So many jobs of one partition.
 *
 * @param {Place & { jobs: number }} options
 */
export async function fillOnePartition({ jobs, ...place }) {
  const chronos = open(place, ONE_EACH)
  for (const batch of batches(jobs)) await chronos.enqueueMany('backlog', batch, { partition: 'full' })
  await chronos.close()
}

/**
 * Finished jobs beside the waiting ones. They really ran, so that the store looks as it would in use.
 *
 * @param {Place & { jobs: number, finished: number }} options
 */
export async function fillBesideFinished({ jobs, finished, ...place }) {
  await fill({ ...place, jobs: finished })
  await drain({ ...place, jobs: finished, concurrency: 100 })
  await fill({ ...place, jobs })
}

/** @param {Place & { jobs: number, future: number }} options */
export async function fillBesideFuture({ jobs, future, ...place }) {
  const chronos = open(place)
  for (const batch of batches(future)) await chronos.enqueueMany('noop', batch, { priority: 9, delay: '7d' })
  await chronos.close()
  await fill({ ...place, jobs })
}

/**
 * Jobs that were enqueued one by one, each awaited, 50 in flight.
 *
 * @param {Place & { jobs: number }} options
 */
export async function fillSingly({ jobs, ...place }) {
  const chronos = open(place)
  await together(jobs, 50, n => chronos.enqueue('noop', payload(n)))
  await chronos.close()
}

/**
 * The same drain by two processes: this one measures, and the other one works, too.
 *
 * @param {Place & { jobs: number, concurrency: number }} options
 */
export async function drainAcross({ jobs, concurrency, ...place }) {
  const chronos = open(place)
  const other = await workingProcess('chronos', { ...place, concurrency })
  const noop = noopJob()
  /** @type {ReturnType<Chronos['work']> | undefined} */
  let worker
  const result = await sample(
    jobs,
    async () => {
      other.start()
      worker = chronos.work([noop], { concurrency })
      // Counted rarely, because each count reads the index of waiting jobs.
      while ((await count(chronos, 'waiting')) + (await count(chronos, 'running')) > 0) await pause(20)
    },
    place.serverPid ?? other.pid,
  )
  await worker?.stop()
  await other.stop()
  const succeeded = await count(chronos, 'succeeded')
  await chronos.close()
  if (succeeded !== jobs) throw new Error(`expected ${jobs} jobs, got ${succeeded}`)
  // Beside a server, the other worker can't be told from other processes.
  return place.serverPid === undefined ? result : { ...result, foreignCores: 0 }
}

/** @param {Place & { concurrency: number }} options */
export async function workAlong({ concurrency, ...place }) {
  const chronos = open(place)
  await chronos.info()
  await teller.untilTold()
  const worker = chronos.work([noopJob()], { concurrency })
  await teller.untilTold()
  await worker.stop()
  await chronos.close()
}

function noopJob() {
  return defineJob({ name: 'noop', retry: fixed({ delay: 0, maxRetries: 1, jitter: 'none' }), async run() {} })
}

/**
 * A share of the jobs fails once; `every` 10 means one of ten attempts in the first round.
 *
 * @param {Place & { jobs: number, concurrency: number, every: number }} options
 */
export async function drainFailingSome({ every, ...options }) {
  const extra = Math.floor((options.jobs - 1) / every) + 1
  return drainRuns({ ...options, runsPerJob: 1, failsFirst: n => n % every === 0, extraRuns: extra })
}

/** @param {Place & { jobs: number, concurrency: number, guarded?: boolean, limits?: Limits }} options */
export async function drain(options) {
  return drainRuns({ ...options, runsPerJob: 1 })
}

/**
 * The same drain, and the reading of its statistics, which adds up what is still to be counted.
 *
 * @param {Place & { jobs: number, concurrency: number }} options
 */
export async function drainCounted(options) {
  return drainRuns({ ...options, runsPerJob: 1, readsSeries: true })
}

/**
 * Jobs without retries: their only run is committed by `begin` before it starts.
 *
 * @param {Place & { jobs: number, concurrency: number }} options
 */
export async function drainWithoutRetries(options) {
  return drainRuns({ ...options, runsPerJob: 1, spareRetries: 0 })
}

/** @param {Place & { jobs: number, concurrency: number }} options */
export async function drainFailingOnce(options) {
  return drainRuns({ ...options, runsPerJob: 2 })
}

/**
 * Jobs whose last run succeeds and whose others fail. The clock stops when every run has ended in the store: as many
 * handlers have started as there are runs to make, and none is running any more.
 *
 * @param {Place & { jobs: number, concurrency: number, runsPerJob: number, spareRetries?: number, guarded?: boolean, limits?: Limits, readsSeries?: boolean, failsFirst?: (n: number) => boolean, extraRuns?: number }} options
 */
async function drainRuns({
  jobs,
  concurrency,
  runsPerJob,
  spareRetries = 1,
  guarded = false,
  limits,
  readsSeries = false,
  failsFirst = () => false,
  extraRuns = 0,
  ...place
}) {
  const allRuns = jobs * runsPerJob + extraRuns
  const chronos = open(place, limits ? { queues: { default: limits } } : {})
  const succeededBefore = await count(chronos, 'succeeded')
  const runs = new Runs(allRuns)
  const noop = defineJob({
    name: 'noop',
    retry: fixed({
      delay: 0,
      maxRetries: runsPerJob - 1 + spareRetries,
      jitter: 'none',
      circuit: guarded,
      budget: guarded,
    }),
    async run(payload, job) {
      runs.add()
      const { n } = /** @type {{ n: number }} */ (payload)
      if (job.attempt < runsPerJob || (job.attempt === 1 && failsFirst(n))) throw new Error('the first run fails')
    },
  })

  /** @type {ReturnType<Chronos['work']> | undefined} */
  let worker
  async function drained() {
    worker = chronos.work([noop], { concurrency })
    await runs.all
    while ((await count(chronos, 'running')) > 0) await pause(1)
    if (readsSeries) await chronos.series()
  }
  const result = await sample(jobs, drained, place.serverPid)
  await worker?.stop()
  const succeeded = (await count(chronos, 'succeeded')) - succeededBefore
  await chronos.close()
  if (succeeded !== jobs || runs.started !== allRuns) {
    throw new Error(`expected ${jobs} jobs in ${allRuns} runs, got ${succeeded} in ${runs.started}`)
  }
  return result
}

/**
 * @param {Chronos} chronos
 * @param {'waiting' | 'running' | 'succeeded'} state
 */
async function count(chronos, state) {
  const { value } = await chronos.jobs.count({ state }, Number.MAX_SAFE_INTEGER)
  return value
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function enqueue({ jobs, inFlight, ...place }) {
  const chronos = open(place)
  const noop = defineJob({ name: 'noop', async run() {} })
  // The store opens with the first.
  await chronos.enqueue(noop, payload(0))
  const result = await sample(
    jobs,
    () => together(jobs, inFlight, n => chronos.enqueue(noop, payload(n))),
    place.serverPid,
  )
  await chronos.close()
  return result
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function bulk({ jobs, inFlight, ...place }) {
  const chronos = open(place)
  await chronos.enqueue('noop', payload(0))
  const all = [...batches(jobs)]
  const result = await sample(
    jobs,
    () => together(all.length, inFlight, n => chronos.enqueueMany('noop', all[n] ?? [])),
    place.serverPid,
  )
  await chronos.close()
  return result
}

/** @param {Place & { times: number }} options */
export async function latency({ times, ...place }) {
  const chronos = open(place)
  const starts = new Starts()
  const worker = chronos.work([defineJob({ name: 'noop', run: async () => starts.tell() })])
  const result = await latencies(times, data => chronos.enqueue('noop', data), starts.next)
  await worker.stop()
  await chronos.close()
  return result
}

/**
 * The partition with the backlog always runs one of its jobs; those that are measured belong to others.
 *
 * @param {Place & { times: number }} options
 */
export async function latencyBesidePartition({ times, ...place }) {
  const chronos = open(place, ONE_EACH)
  const starts = new Starts()
  const noop = defineJob({ name: 'noop', run: async () => starts.tell() })
  const backlog = defineJob({ name: 'backlog', run: () => pause(50) })
  const worker = chronos.work([noop, backlog])
  let number = 0
  const result = await latencies(
    times,
    data => chronos.enqueue('noop', data, { partition: `acct-${number++ % 100}` }),
    starts.next,
  )
  await worker.stop()
  await chronos.close()
  return result
}

/**
 * This process enqueues, another one on the same store works.
 *
 * @param {Place & { times: number }} options
 */
export async function latencyAcross({ times, ...place }) {
  const chronos = open(place)
  const other = await otherProcess('chronos', place)
  const result = await latencies(times, data => chronos.enqueue('noop', data), other.next)
  await other.stop()
  await chronos.close()
  return result
}

/** @param {Place} place */
export async function tellStarts(place) {
  const chronos = open(place)
  const worker = chronos.work([defineJob({ name: 'noop', run: async () => teller.tell() })])
  await teller.untilStopped()
  await worker.stop()
  await chronos.close()
}

/** @param {Place & { seconds: number }} options */
export async function idle({ seconds, ...place }) {
  const chronos = open(place)
  const worker = chronos.work([defineJob({ name: 'noop', async run() {} })])
  const result = await idleFor({ seconds, ...place })
  await worker.stop()
  await chronos.close()
  return result
}

/** So many jobs wait while they are enqueued and run at the same time. */
const BACKLOG = 20_000

/**
 * Enqueues and runs jobs for a while, and compares the end with the beginning. Meanwhile another connection may hold a
 * snapshot of the database, as a long report or a backup does.
 *
 * @param {Place & { seconds: number, windowSeconds: number, snapshot?: boolean, retention?: string }} options
 */
export async function churn({ seconds, windowSeconds, snapshot = false, retention, ...place }) {
  const chronos = open(place, retention === undefined ? {} : { retention: { succeeded: retention } })
  let enqueued = 0
  let done = 0
  const noop = defineJob({
    name: 'noop',
    async run() {
      done++
    },
  })
  for (const batch of batches(BACKLOG)) await chronos.enqueueMany(noop, batch)
  enqueued += BACKLOG
  const holder = snapshot ? await holdSnapshot(String(place.url)) : undefined
  const worker = chronos.work([noop], { concurrency: 100 })
  const timeUp = pause(seconds * 1_000)
  let isOver = false
  void timeUp.then(() => {
    isOver = true
  })
  const [block = []] = batches(500, { size: 500 })
  async function produce() {
    while (!isOver) {
      if (enqueued - done > BACKLOG) {
        await pause(1)
      } else {
        enqueued += block.length
        await chronos.enqueueMany(noop, block)
      }
    }
  }
  /** @type {number[]} */
  const rates = []
  async function look() {
    while (rates.length < Math.floor(seconds / windowSeconds)) {
      const before = done
      const startedAt = process.hrtime.bigint()
      await pause(windowSeconds * 1_000)
      rates.push((done - before) / (Number(process.hrtime.bigint() - startedAt) / 1e9))
    }
  }
  const result = await sample(
    1,
    async () => {
      await Promise.all([produce(), look(), timeUp])
    },
    place.serverPid,
  )
  await holder?.end()
  await worker.stop()
  await chronos.close()
  const [first = 0, last = 0] = [rates[0], rates.at(-1)]
  return { ...result, firstPerSecond: first, lastPerSecond: last, lastShare: last / first }
}

/** @param {string} url */
async function holdSnapshot(url) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT count(*) FROM chronos.queues')
  return client
}
