/**
 * Measures how long each screen takes with many jobs: `npm run bench:screens -- 1000000`. Real workers run the jobs on a new
 * SQLite file, or on the one or the PostgreSQL database that a second argument names and that is then kept. A screen is
 * complete when its last response is drawn. The CPU time of the server depends less on what else the machine does; that of
 * PostgreSQL is not counted.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { chromium } from 'playwright-core'
import { argumentsOf, wholeNumber } from '../build/arguments.js'
import { launchOptions } from '../build/chromium.js'

const USAGE = `npm run bench:screens -- [JOBS] [STORE]

  JOBS    how many jobs the store gets (1,000,000)
  STORE   a SQLite file or the URL of a PostgreSQL database, which is kept (a new file that is removed)
`

const { positionals } = argumentsOf(USAGE, { allowPositionals: true })
const JOBS = wholeNumber('JOBS', positionals[0] ?? '1000000')
const STORE = positionals[1]

const { createChronos, defineJob, fixed, PermanentError } = await import(
  new URL('../dist/index.js', import.meta.url).href
)
const { createServer } = await import(new URL('../dist/server.js', import.meta.url).href)

const ROUNDS = 9
/** Every screen must be complete after this time. */
const TARGET_MS = 400
const BATCH = 10_000
const QUEUES = 12
const TENANTS = ['acme', 'globex', 'initech', undefined]

/** @param {readonly number[]} values */
const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/**
 * Of 100 jobs, 90 succeed, one of them after a retry, 4 die of 40 errors, 2 wait for a retry, and 4 are scheduled.
 *
 * @param {any} chronos
 */
async function fill(chronos) {
  const definitions = Array.from({ length: QUEUES }, (_, n) =>
    defineJob({
      name: `name-${n}`,
      queue: `queue-${n}`,
      retry: fixed({ delay: '1ms', maxRetries: 1 }),
      run: (/** @type {{ n: number }} */ { n: number }, /** @type {any} */ job) => {
        const kind = number % 100
        if (kind < 4) throw new PermanentError(`card ${String.fromCharCode(97 + (number % 40))} was declined`)
        if (kind < 6) return job.snooze('1d')
        if (kind === 6 && job.attempt === 1) throw new Error('gateway answered 503')
        return { receipt: number }
      },
    }),
  )
  for (let from = 0; from < JOBS; from += BATCH) {
    const n = (from / BATCH) % QUEUES
    const payloads = Array.from({ length: Math.min(BATCH, JOBS - from) }, (_, i) => ({
      n: from + i,
      order: `A-${from + i}`,
    }))
    const late = Math.floor(payloads.length / 25)
    const tenantId = TENANTS[(from / BATCH) % TENANTS.length]
    const options = tenantId === undefined ? {} : { tenantId }
    await chronos.enqueueMany(definitions[n], payloads.slice(late), options)
    await chronos.enqueueMany(definitions[n], payloads.slice(0, late), { ...options, delay: '7d' })
  }
  chronos.work(definitions, { concurrency: 500, signals: false, build: 'v1' })
  for (;;) {
    const phases = await Promise.all(['queued', 'running'].map(phase => chronos.jobs.count({ phase })))
    if (phases.every(({ value }) => value === 0)) break
    await new Promise(resolve => setTimeout(resolve, 1_000))
  }
}

/**
 * Does now what autovacuum would do within the next minute, which would use the cores during the measurement.
 *
 * @param {string} url
 */
async function vacuum(url) {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('VACUUM (ANALYZE)')
  await client.end()
}

/** @param {any} chronos */
async function paths(chronos) {
  const [dead] = (await chronos.dead.list()).data
  const [group] = (await chronos.dead.groups({ limit: 1 })).data
  const [done] = (await chronos.jobs.list({ state: 'succeeded' }, { limit: 1 })).data
  const [worker] = await chronos.workers()
  return [
    '/',
    '/queues',
    '/queues/queue-3',
    '/names',
    '/names/name-3',
    '/jobs',
    '/jobs?state=dead',
    '/jobs?state=retrying',
    '/jobs?queue=queue-3',
    '/jobs?tenant=acme&state=succeeded',
    '/jobs?range=1h&by=failed',
    '/jobs?q=A-999999',
    `/jobs/${done.id}`,
    `/jobs/${dead.id}`,
    '/dead',
    '/dead?view=jobs',
    '/dead?range=1h',
    `/dead/${group.fingerprint}`,
    '/incident',
    '/redrives',
    '/schedules',
    '/policies',
    '/webhooks',
    '/dependencies',
    '/alerts',
    '/workers',
    `/workers/${worker.id}`,
    '/system',
    '/audit',
  ]
}

/**
 * The time until the screen is complete, and the slowest response.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} path
 */
async function visit(page, path) {
  const asked = new Map()
  let slowest = { ms: 0, path: '' }
  let answered = () => {}
  const isApi = (/** @type {any} */ request) => request.resourceType() === 'fetch' || request.resourceType() === 'xhr'
  const onRequest = (/** @type {any} */ request) => isApi(request) && asked.set(request, performance.now())
  const onEnd = (/** @type {any} */ request) => {
    const began = asked.get(request)
    if (began === undefined) return
    const ms = performance.now() - began
    if (ms > slowest.ms) slowest = { ms, path: new URL(request.url()).pathname.replace(/^.*\/api\/v1/, '') }
    asked.delete(request)
    if (asked.size === 0) answered()
  }
  page.on('request', onRequest).on('requestfinished', onEnd).on('requestfailed', onEnd)
  const began = performance.now()
  const used = process.cpuUsage()
  // As text, because the names of the browser are unknown here.
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}), dispatchEvent(new PopStateEvent('popstate'))`,
  )
  const frames = () =>
    page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))')
  await frames()
  while (asked.size > 0) {
    await new Promise(resolve => {
      answered = () => resolve(undefined)
    })
    await frames()
  }
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(used)
  page.off('request', onRequest).off('requestfinished', onEnd).off('requestfailed', onEnd)
  return { ms, slowest, cpuMs: (user + system) / 1_000 }
}

const folder = await mkdtemp(join(tmpdir(), 'chronos-screens-'))
const url = STORE !== undefined && /^postgres(ql)?:/.test(STORE) ? STORE : undefined
const chronos = createChronos({ store: url ?? `sqlite:${STORE ?? join(folder, 'chronos.db')}`, log: false })
const isFilled = (await chronos.jobs.count({})).value > 0
const began = performance.now()
if (isFilled) chronos.work([], { signals: false, build: 'v1', queues: ['queue-0'] })
else await fill(chronos)
console.log(`${JOBS.toLocaleString('en-US')} jobs in ${Math.round((performance.now() - began) / 1000)} s`)
if (url !== undefined) await vacuum(url)
const server = createServer(chronos, { log: false })
const { url: address } = await server.listen({ port: 0 })
const browser = await chromium.launch(await launchOptions())
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' })).newPage()
await page.goto(address)
await page.locator('main').waitFor()
let isSlow = false
for (const path of await paths(chronos)) {
  const visits = []
  for (let round = 0; round < ROUNDS; round++) {
    // Another screen first, so that each round reads its data again.
    await visit(page, path === '/tokens' ? '/audit' : '/tokens')
    visits.push(await visit(page, path))
  }
  const all = visits.map(({ ms }) => ms)
  const ms = median(all)
  isSlow ||= ms > TARGET_MS
  const slowest = visits.find(one => one.ms === ms)?.slowest ?? { ms: 0, path: '' }
  const cpu = `${Math.round(median(visits.map(({ cpuMs }) => cpuMs)))} ms CPU`
  const words = `${Math.round(ms)} ms (${Math.round(Math.min(...all))}–${Math.round(Math.max(...all))})`
  console.log(
    `${ms > TARGET_MS ? '✗' : '✓'} ${path.replace(/[0-9a-f-]{36}|[0-9a-f]{16}/, '…').padEnd(38)} ${words.padEnd(24)} ${cpu.padEnd(12)} ${Math.round(slowest.ms)} ms ${slowest.path}`,
  )
}
console.log(`load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores; the target is ${TARGET_MS} ms`)
await browser.close()
await server.close()
await chronos.close()
await rm(folder, { recursive: true, force: true })
process.exitCode = isSlow ? 1 : 0
