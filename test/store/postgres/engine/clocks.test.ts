import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, test } from 'vitest'
import { createChronos, defineJob } from '../../../../src/index.js'
import { dropSchemas, freshSchema, postgresUrl, sql } from '../../../support/postgres.js'
import { exitOf, startProcess, temporaryFolder } from '../../../support/process.js'
import { runsIn } from '../bench.js'

afterAll(dropSchemas)

const HOUR_MS = 3_600_000

/** Makes Node shift the clock of a process by this many milliseconds. */
const skewed = (ms: number) => ['--import', `data:text/javascript,const now=Date.now;Date.now=()=>now()+(${ms})`]

// The tests mostly wait for leases to expire, so they run concurrently.
test.concurrent.for([
  ['ahead', HOUR_MS],
  ['behind', -HOUR_MS],
] as const)('a worker whose clock is an hour %s behaves like any other', async ([_word, ms], { expect }) => {
  using folder = temporaryFolder()
  const schema = freshSchema()
  const store = `${await postgresUrl()}?schema=${schema}`
  const ledger = join(folder.path, 'ledger')
  await using chronos = createChronos({ store, log: false })
  await chronos.info()
  // Each worker has a sweeper, and a job that outlives its first lease, which the other sweeper must not touch.
  const here = defineJob({ name: 'here', queue: 'here', run: () => sql('SELECT pg_sleep(2.5)') })
  await using worker = chronos.work([here], { lease: '1s', signals: false })
  const child = await startProcess('chaos/workers/worker.js', [store, ledger], { flags: skewed(ms) })
  await chronos.enqueue(here)
  await chronos.enqueue('least', { behaviour: 'long' })
  const payloads = Array.from({ length: 30 }, (_, index) => ({ behaviour: ['ok', 'slow', 'flaky'][index % 3]! }))
  const delay = (_: unknown, index: number) => (index % 2 === 0 ? {} : { delay: '700ms' as const })
  const enqueued = await chronos.enqueueMany('least', payloads, delay)
  const later = await chronos.enqueue('least', { behaviour: 'ok' }, { delay: '30m' })
  const live = async () => (await chronos.jobs.count({ state: ['waiting', 'running'] })).value
  await expect.poll(live).toBe(1)
  child.kill('SIGTERM')
  expect(await exitOf(child)).toEqual({ code: 0, signal: null })
  await worker.stop()

  expect(await chronos.jobs.get(later.id), 'not half an hour early').toMatchObject({ state: 'waiting', attempt: 0 })
  const runs = await sql<{ status: string; sinceMs: number; lastedMs: number; agoMs: number }>(
    `SELECT a.status, (a.started_at - j.created_at)::float8 AS "sinceMs",
       (a.finished_at - a.started_at)::float8 AS "lastedMs",
       (extract(epoch FROM clock_timestamp()) * 1000 - a.finished_at)::float8 AS "agoMs"
     FROM ${runsIn(schema)} a JOIN ${schema}.jobs j ON a.job = j.pk`,
  )
  expect(runs).toHaveLength(2 + payloads.length + payloads.length / 3)
  for (const { status, sinceMs, lastedMs, agoMs } of runs) {
    expect(status, 'no lease was taken away').not.toBe('lost')
    expect(Math.min(sinceMs, lastedMs), 'in the order in which it happened').toBeGreaterThanOrEqual(0)
    expect(Math.abs(agoMs), 'at the time of the database').toBeLessThan(HOUR_MS / 2)
  }
  const delayed = enqueued.filter((_, index) => index % 2 === 1).map(({ id }) => id)
  const early = `SELECT 1 FROM ${schema}.jobs WHERE first_started_at < created_at + 700 AND id = ANY ($1::uuid[])`
  expect(await sql(early, [delayed]), 'none started before its time').toEqual([])
  const starts = readFileSync(ledger, 'utf8').match(/^start /gm)
  expect(starts, 'no run started twice').toHaveLength(runs.length - 1)
})
