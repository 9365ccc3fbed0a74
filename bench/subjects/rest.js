import { Agent, request } from 'undici'
import { openServer } from '../rest-server.js'
import { together } from '../runs.js'
import { percentile, sample } from '../sample.js'

/** @typedef {typeof import('../../src/index.js')} Package */
const built = new URL('../../dist/index.js', import.meta.url).href
const { createChronos } = /** @type {Package} */ (await import(built))

const BODY = JSON.stringify({ name: 'noop', payload: { order: 17, cents: 4200 } })
const WARM_UP = 2_000

/**
 * So many `POST /jobs`, 50 at any time, on a file or (without one) on a store that does nothing.
 *
 * @param {{ file?: string, jobs: number, connections: number, nothing?: boolean }} options
 */
export async function enqueue({ file, jobs, connections, nothing = false }) {
  const server = await openServer(nothing || file === undefined ? {} : { file })
  const dispatcher = new Agent({ connections })
  const call = async () => {
    const { statusCode, body } = await request(`${server.url}api/v1/jobs`, {
      dispatcher,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: BODY,
    })
    const text = await body.text()
    if (statusCode !== 201) throw new Error(`POST /jobs: ${statusCode} ${text}`)
  }
  await together(WARM_UP, connections, call)
  const result = await sample(jobs, () => together(jobs, connections, call))
  await dispatcher.close()
  await server.close()
  return result
}

const QUEUES = ['mail', 'payments', 'search', 'exports', 'invoices']

/**
 * A file with many jobs of several queues, names, tags and tenants; a tenth has run.
 *
 * @param {{ file: string, jobs: number }} options
 */
export async function fillMixed({ file, jobs }) {
  const chronos = createChronos({ store: `sqlite:${file}`, log: false })
  const size = 10_000
  for (let from = 0; from < jobs; from += size) {
    const payloads = Array.from({ length: Math.min(size, jobs - from) }, (_, i) => ({ order: from + i, to: 'ann' }))
    await chronos.enqueueMany('noop', payloads, ({ order }) => ({
      queue: /** @type {string} */ (QUEUES[order % QUEUES.length]),
      tenantId: `tenant-${order % 100}`,
      tags: [`t${order % 1000}`],
      key: `order:${order}`,
      ...(order % 3 === 0 && { delay: '1h' }),
    }))
  }
  await chronos.close()
}

const LISTS = [
  'limit=50',
  'state=waiting',
  'phase=scheduled',
  'phase=queued&queue=mail',
  'queue=payments',
  'name=noop',
  'tenantId=tenant-7',
  'tag=t77',
  'key=order:4711',
  'state=dead',
  'createdAfter=2026-01-01T00:00:00.000Z',
]

/**
 * Lists of a large file, one after the other: how long each takes, with its count.
 *
 * @param {{ file: string, times: number }} options
 */
export async function lists({ file, times }) {
  const server = await openServer({ file })
  /** @type {number[]} */
  const all = []
  let slowest = 0
  for (const query of LISTS) {
    /** @type {number[]} */
    const own = []
    for (let i = 0; i < times; i++) {
      const startedAt = process.hrtime.bigint()
      const { statusCode, body } = await request(`${server.url}api/v1/jobs?${query}`)
      const text = await body.text()
      if (statusCode !== 200) throw new Error(`GET /jobs?${query}: ${statusCode} ${text}`)
      own.push(Number(process.hrtime.bigint() - startedAt) / 1e6)
    }
    all.push(...own)
    slowest = Math.max(slowest, percentile(own, 0.95))
  }
  await server.close()
  return { p50Ms: percentile(all, 0.5), p95Ms: percentile(all, 0.95), slowestP95Ms: slowest }
}
