import { Agent, request } from 'undici'
import { Runs, together } from '../runs.js'
import { pause, sample } from '../sample.js'
import { openTarget } from '../target.js'

/** @typedef {typeof import('../../src/index.js')} Package */
const built = new URL('../../dist/index.js', import.meta.url).href
const { createChronos } = /** @type {Package} */ (await import(built))

const BODY = JSON.stringify({ order: 17, cents: 4200 })
const WARM_UP = 500

/**
 * What the machine can do: so many POSTs, a number of them at any time, by undici alone.
 *
 * @param {{ jobs: number, concurrency: number }} options
 */
export async function bare({ jobs, concurrency }) {
  const target = await openTarget()
  const dispatcher = new Agent({ connections: concurrency })
  const call = async () => {
    const { body } = await request(target.url, { dispatcher, method: 'POST', body: BODY })
    await body.text()
  }
  await together(WARM_UP, concurrency, call)
  const result = await sample(jobs, () => together(jobs, concurrency, call))
  await dispatcher.close()
  target.close()
  return result
}

/**
 * The same calls as jobs that wait already.
 *
 * @param {{ file?: string, url?: string, serverPid?: number, jobs: number, concurrency: number }} options
 */
export async function drain({ file, url = `sqlite:${file}`, serverPid, jobs, concurrency }) {
  const target = await openTarget()
  const { port } = new URL(target.url)
  const chronos = createChronos({ store: url, egress: { allow: ['loopback'], ports: [Number(port)] } })
  const enqueue = (/** @type {number} */ count) =>
    together(count, 100, () => chronos.http({ url: target.url, body: JSON.parse(BODY) }))
  const runs = new Runs(WARM_UP + jobs)
  chronos.on('job.started', () => runs.add())
  const left = async () => (await chronos.jobs.count({ state: ['waiting', 'running'] }, 1)).value
  await enqueue(WARM_UP)
  let worker = chronos.work([], { concurrency })
  while ((await left()) > 0) await pause(5)
  await worker.stop()
  await enqueue(jobs)
  const result = await sample(
    jobs,
    async () => {
      worker = chronos.work([], { concurrency })
      await runs.all
      while ((await left()) > 0) await pause(1)
    },
    serverPid,
  )
  await worker.stop()
  const succeeded = (await chronos.jobs.count({ state: 'succeeded' }, Number.MAX_SAFE_INTEGER)).value
  await chronos.close()
  target.close()
  if (succeeded !== WARM_UP + jobs) throw new Error(`expected ${WARM_UP + jobs} calls to succeed, got ${succeeded}`)
  return result
}
