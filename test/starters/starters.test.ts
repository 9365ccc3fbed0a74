import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ROOT } from '../support/tree.js'
import { installed, type Started, started } from './starter.js'

/** `npm run test:starters` installs the packed tarball with npm; `npm test` links the build, which needs no network. */
const isInstalled = process.env['CHRONOS_STARTERS'] === 'install'
/** Too large to be a package of this repository. */
const ONLY_INSTALLED = ['next']
const STARTERS = readdirSync(join(ROOT, 'examples', 'starters')).filter(
  name => !name.includes('.') && (isInstalled || !ONLY_INSTALLED.includes(name)),
)

const packs = mkdtempSync(join(tmpdir(), 'chronos-tarball-'))
afterAll(() => rmSync(packs, { recursive: true, force: true }))
const tarball = isInstalled ? join(packs, pack()) : undefined

function pack(): string {
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', packs]
  return execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

/** Nest ends its process with the signal, after it has closed everything; Next.js with the code of the signal. */
const ENDS: Readonly<Record<string, unknown>> = { nest: 'SIGTERM', next: 143 }

interface Job {
  readonly id: string
  readonly state: string
  readonly attempt: number
  readonly result?: unknown
  readonly attempts: readonly { readonly status: string }[]
}

const order = async ({ url }: Started): Promise<string> => {
  const response = await fetch(new URL('/orders', url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ orderId: 'A-17' }),
  })
  expect(response.status).toBe(202)
  return ((await response.json()) as Job).id
}

/** The peer range of `chronos-jobs/nest` names these and the latest. */
const OLDER = isInstalled ? ['nest@10', 'nest@11'] : []

describe.each([...STARTERS.filter(name => name !== 'serverless'), ...OLDER])('the starter for %s', name => {
  it('retries a failed job, and shows it in the dashboard behind its own login', async () => {
    const app = await started(installed(name, tarball))
    const get = (path: string, cookie = ''): Promise<Response> => fetch(new URL(path, app.url), { headers: { cookie } })
    expect((await get('/jobs/')).status).toBe(401)
    expect((await get('/jobs/api/v1/jobs')).status).toBe(401)

    const login = await fetch(new URL('/login', app.url), { method: 'POST' })
    const [cookie] = login.headers.get('Set-Cookie')!.split(';')
    const page = await get('/jobs/', cookie)
    const html = await page.text()
    expect([page.status, html]).toEqual([200, expect.stringContaining('/jobs/')])
    const [, script] = /<script[^>]+src="([^"]+)"/.exec(html) ?? []
    expect((await get(new URL(script!, new URL('/jobs/', app.url)).pathname, cookie)).status).toBe(200)

    const id = await order(app)
    const read = async (): Promise<Job> => (await (await get(`/jobs/api/v1/jobs/${id}`, cookie)).json()) as Job
    let job = await read()
    while (job.state === 'waiting' || job.state === 'running') job = await read()
    expect(job).toMatchObject({ state: 'succeeded', attempt: 2, result: { orderId: 'A-17', charged: true } })
    expect(job.attempts.map(({ status }) => status)).toEqual(['succeeded', 'failed'])

    const headers = { cookie: cookie!, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name: 'charge', payload: { orderId: 'B-18' } })
    const made = await fetch(new URL('/jobs/api/v1/jobs', app.url), { method: 'POST', headers, body })
    expect(made.status).toBe(201)
    expect(await app.stop()).toBe(ENDS[name.split('@')[0]!] ?? 0)
  })
})

describe('the starter for serverless', () => {
  it('retries a failed job in its calls, for those who know the secret', async () => {
    const app = await started(installed('serverless', tarball))
    const call = (secret: string): Promise<Response> =>
      fetch(new URL('/cron', app.url), { headers: { Authorization: `Bearer ${secret}` } })
    expect((await call('a-wrong-secret-of-the-cron')).status).toBe(401)
    await order(app)
    let succeeded = 0
    while (succeeded === 0) {
      const report = (await (await call('the-secret-of-the-cron')).json()) as { succeeded: number }
      succeeded = report.succeeded
    }
    expect(succeeded).toBe(1)
    expect(await app.stop()).toBe(0)
  })
})
