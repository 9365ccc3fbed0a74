import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { pause, percentile, sample } from '../sample.js'

/** @typedef {typeof import('../../src/index.js')} Package */
const built = new URL('../../dist/index.js', import.meta.url).href
const { createChronos, defineJob } = /** @type {Package} */ (await import(built))

const noop = defineJob({ name: 'noop', async run() {} })
/** The first and the last seconds are left out: they measure starting and stopping. */
const EDGE_MS = 3_000

/** @param {{ url?: string }} place */
function scheduler({ url = '' }) {
  const chronos = createChronos({ store: url, log: false })
  chronos.work([noop], { concurrency: 50 })
  return chronos
}

/** The other scheduler, until it is killed. @param {{ url?: string }} place */
export async function other(place) {
  scheduler(place)
  process.send?.('ready')
  await new Promise(() => {})
}

/**
 * Schedules with an occurrence every second, and two schedulers that also run the jobs: how many occurrences created a
 * job, how many created two, and how late.
 *
 * @param {{ url?: string, serverPid?: number, schedules: number, seconds: number }} options
 */
export async function fire({ schedules, seconds, ...place }) {
  const client = createChronos({ store: place.url ?? '', log: false })
  for (let n = 0; n < schedules; n++) {
    await client.schedules.put(`s${n}`, { cron: '* * * * * *', job: 'noop', overlap: 'allow' })
  }
  const child = fileURLToPath(new URL('../child.js', import.meta.url))
  const second = fork(child, ['schedules', 'other', JSON.stringify(place)])
  await once(second, 'message')
  const first = scheduler(place)
  const from = Math.ceil((Date.now() + EDGE_MS) / 1_000) * 1_000
  const result = await sample(schedules * seconds, () => pause(from - Date.now() + seconds * 1_000 + EDGE_MS))
  second.kill('SIGKILL')
  await first.close()
  await client.close()
  const lateness = await occurrencesOf(place.url ?? '', from, from + seconds * 1_000)
  const expected = schedules * seconds
  const fired = new Set(lateness.map(({ key }) => key)).size
  return {
    ...result,
    firedPercent: (100 * fired) / expected,
    doubled: lateness.length - fired,
    p50Ms: percentile(
      lateness.map(({ ms }) => ms),
      0.5,
    ),
    p99Ms: percentile(
      lateness.map(({ ms }) => ms),
      0.99,
    ),
  }
}

/**
 * The occurrences that created a job, and how late, by the keys of the jobs and the clock of the server.
 *
 * @param {string} url
 * @param {number} from
 * @param {number} to
 */
async function occurrencesOf(url, from, to) {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('SELECT key, created_at FROM chronos.jobs WHERE schedule_id IS NOT NULL')
  await client.end()
  return rows.flatMap(({ key, created_at: createdAt }) => {
    const at = Date.parse(String(key).replace(/^schedule:[^:]+:/, ''))
    return at >= from && at < to ? [{ key: String(key), ms: Number(createdAt) - at }] : []
  })
}
