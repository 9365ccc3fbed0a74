import { Logger, makeWorkerUtils, run, WorkerPreset } from 'graphile-worker'
import pg from 'pg'
import { idleFor } from '../idle.js'
import { latencies, otherProcess, Starts, teller } from '../latency.js'
import { batches, payload } from '../payload.js'
import { Runs, together } from '../runs.js'
import { pause, sample } from '../sample.js'

/**
 * graphile-worker: for drains, 500 at a time with a local queue of 2,000 and ends in batches, the best of those compared;
 * for latencies, without a local queue. No logging. It deletes what is done, keeps no attempts, and waits 2.7 s before a first retry,
 * which can't be changed.
 *
 * @typedef {{ url: string, serverPid?: number }} Place
 */
const BUSY = {
  concurrentJobs: 500,
  maxPoolSize: 25,
  localQueue: { size: 2_000 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
const PROMPT = { concurrentJobs: 24, maxPoolSize: 25 }
const ENQUEUE_CONNECTIONS = 10

const silent = new Logger(() => () => {})

/**
 * @param {string} url
 * @param {object} worker
 * @param {() => Promise<void>} noop
 */
function work(url, worker, noop) {
  const preset = { extends: [WorkerPreset], worker: { connectionString: url, logger: silent, ...worker } }
  return run({ preset, taskList: { noop }, noHandleSignals: true })
}

/** @param {string} url */
function open(url) {
  return makeWorkerUtils({ connectionString: url, maxPoolSize: ENQUEUE_CONNECTIONS, logger: silent })
}

/**
 * @param {object[]} payloads
 * @param {number} [maxAttempts]
 */
function specs(payloads, maxAttempts = 25) {
  return payloads.map(one => ({ identifier: 'noop', payload: one, maxAttempts }))
}

/** @param {Place & { jobs: number, large?: boolean }} options */
export async function fill({ url, jobs, large = false }) {
  const utils = await open(url)
  await utils.migrate()
  for (const batch of batches(jobs, { large })) await utils.addJobs(specs(batch))
  await utils.release()
}

/** @param {Place & { jobs: number }} options */
export async function drain(options) {
  return drainRuns({ ...options, runsPerJob: 1 })
}

/** @param {Place & { jobs: number }} options */
export async function drainFailingOnce(options) {
  return drainRuns({ ...options, runsPerJob: 2 })
}

/** @param {Place & { jobs: number, runsPerJob: number }} options */
async function drainRuns({ url, serverPid, jobs, runsPerJob }) {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const runs = new Runs(jobs * runsPerJob)
  /** @type {import('graphile-worker').Runner | undefined} */
  let runner
  async function noop() {
    runs.add()
    // Nothing is retried before everything has failed once: it waits for longer than that takes.
    if (runs.started <= jobs * (runsPerJob - 1)) throw new Error('the first run fails')
  }
  async function drained() {
    runner = await work(url, BUSY, noop)
    await runs.all
    while ((await left(pool)) > 0) await pause(1)
  }
  const result = await sample(jobs, drained, serverPid)
  await runner?.stop()
  await pool.end()
  return result
}

/** @param {pg.Pool} pool */
async function left(pool) {
  const { rows } = await pool.query('SELECT count(*) AS count FROM graphile_worker._private_jobs')
  return Number(rows[0].count)
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function enqueue({ url, serverPid, jobs, inFlight }) {
  const utils = await open(url)
  await utils.migrate()
  const result = await sample(jobs, () => together(jobs, inFlight, n => utils.addJob('noop', payload(n))), serverPid)
  await utils.release()
  return result
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function bulk({ url, serverPid, jobs, inFlight }) {
  const utils = await open(url)
  await utils.migrate()
  const all = [...batches(jobs)]
  const result = await sample(
    jobs,
    () => together(all.length, inFlight, n => utils.addJobs(specs(all[n] ?? []))),
    serverPid,
  )
  await utils.release()
  return result
}

/** @param {Place & { times: number }} options */
export async function latency({ url, times }) {
  const starts = new Starts()
  const utils = await open(url)
  await utils.migrate()
  const runner = await work(url, PROMPT, async () => starts.tell())
  const result = await latencies(times, data => utils.addJob('noop', data), starts.next)
  await runner.stop()
  await utils.release()
  return result
}

/** @param {Place & { times: number }} options */
export async function latencyAcross({ url, times }) {
  const utils = await open(url)
  await utils.migrate()
  const other = await otherProcess('graphile-worker', { url })
  const result = await latencies(times, data => utils.addJob('noop', data), other.next)
  await other.stop()
  await utils.release()
  return result
}

/** @param {Place} place */
export async function tellStarts({ url }) {
  const runner = await work(url, PROMPT, async () => teller.tell())
  await teller.untilStopped()
  await runner.stop()
}

/** @param {Place & { seconds: number }} options */
export async function idle({ url, ...options }) {
  const runner = await work(url, BUSY, async () => {})
  const result = await idleFor({ url, ...options })
  await runner.stop()
  return result
}
