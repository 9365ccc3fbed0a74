import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { idleFor } from '../idle.js'
import { latencies, otherProcess, Starts, teller } from '../latency.js'
import { batches, payload } from '../payload.js'
import { Runs, together } from '../runs.js'
import { pause, sample } from '../sample.js'

/**
 * pg-boss at its best: two workers with batches of 1,000 that go on without a pause while they are full, woken by
 * notifications; single enqueues without them, which is twice as fast there. It keeps the jobs, but not their attempts.
 *
 * @typedef {{ url: string, serverPid?: number }} Place
 */
const CONNECTIONS = 10
const BUSY = { batchSize: 1_000, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
const PROMPT = { pollingIntervalSeconds: 0.5 }

/**
 * @param {string} url
 * @param {{ notify?: boolean }} [options]
 */
async function open(url, { notify = true } = {}) {
  const boss = new PgBoss({ connectionString: url, max: CONNECTIONS, useListenNotify: true })
  boss.on('error', error => console.error(error))
  await boss.start()
  await boss.createQueue('noop', { notify, retryLimit: 2, retryDelay: 0 })
  return boss
}

/** @param {object[]} payloads */
function specs(payloads) {
  return payloads.map(data => ({ data }))
}

/** @param {Place & { jobs: number, large?: boolean }} options */
export async function fill({ url, jobs, large = false }) {
  const boss = await open(url)
  for (const batch of batches(jobs, { large })) await boss.insert('noop', specs(batch))
  await boss.stop()
}

/** @param {Place & { jobs: number }} options */
export async function drain({ url, serverPid, jobs }) {
  const boss = await open(url)
  const runs = new Runs(jobs)
  async function drained() {
    await boss.work('noop', BUSY, async batch => runs.add(batch.length))
    await runs.all
    await untilNothingIsLeft(url)
  }
  const result = await sample(jobs, drained, serverPid)
  await boss.stop()
  return result
}

/** @param {Place & { jobs: number }} options */
export async function drainFailingOnce({ url, serverPid, jobs }) {
  const boss = await open(url)
  const runs = new Runs(jobs * 2)
  /** @type {Set<string>} */
  const failed = new Set()
  async function drained() {
    await boss.work('noop', { ...BUSY, perJobResults: true }, async batch => {
      runs.add(batch.length)
      return batch.map(({ id }) => {
        if (failed.has(id)) return { id, status: 'completed' }
        failed.add(id)
        return { id, status: 'failed', output: { message: 'the first run fails' } }
      })
    })
    await runs.all
    await untilNothingIsLeft(url)
  }
  const result = await sample(jobs, drained, serverPid)
  await boss.stop()
  return result
}

/** @param {string} url */
async function untilNothingIsLeft(url) {
  const client = new pg.Client(url)
  await client.connect()
  for (;;) {
    const { rows } = await client.query(`SELECT count(*) AS count FROM pgboss.job WHERE state < 'completed'`)
    if (Number(rows[0].count) === 0) break
    await pause(1)
  }
  await client.end()
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function enqueue({ url, serverPid, jobs, inFlight }) {
  const boss = await open(url, { notify: false })
  const result = await sample(jobs, () => together(jobs, inFlight, n => boss.send('noop', payload(n))), serverPid)
  await boss.stop()
  return result
}

/** @param {Place & { jobs: number, inFlight: number }} options */
export async function bulk({ url, serverPid, jobs, inFlight }) {
  const boss = await open(url)
  const all = [...batches(jobs)]
  const result = await sample(
    jobs,
    () => together(all.length, inFlight, n => boss.insert('noop', specs(all[n] ?? []))),
    serverPid,
  )
  await boss.stop()
  return result
}

/** @param {Place & { times: number }} options */
export async function latency({ url, times }) {
  const starts = new Starts()
  const boss = await open(url)
  await boss.work('noop', PROMPT, async () => starts.tell())
  const result = await latencies(times, data => boss.send('noop', data), starts.next)
  await boss.stop()
  return result
}

/** @param {Place & { times: number }} options */
export async function latencyAcross({ url, times }) {
  const boss = await open(url)
  const other = await otherProcess('pg-boss', { url })
  const result = await latencies(times, data => boss.send('noop', data), other.next)
  await other.stop()
  await boss.stop()
  return result
}

/** @param {Place} place */
export async function tellStarts({ url }) {
  const boss = await open(url)
  await boss.work('noop', PROMPT, async () => teller.tell())
  await teller.untilStopped()
  await boss.stop()
}

/** @param {Place & { seconds: number }} options */
export async function idle({ url, ...options }) {
  const boss = await open(url)
  await boss.work('noop', BUSY, async () => {})
  const result = await idleFor({ url, ...options })
  await boss.stop()
  return result
}
