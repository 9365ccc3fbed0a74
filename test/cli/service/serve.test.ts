import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { say } from '../memory-io.js'
import { type Ended, type Running, run, start } from '../process.js'

const LIBRARY = new URL('../../../dist/index.js', import.meta.url).href

let folder: string
let store: string
const running: Running[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-serve-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
})
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

const QUIET = { CHRONOS_LOG_LEVEL: 'silent' }

function launch(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  const process = start([...args, '--store', store], { ...QUIET, ...env })
  running.push(process)
  return process
}

async function serving(...args: readonly string[]): Promise<{ readonly url: string; readonly server: Running }> {
  const server = launch(['serve', '--port', '0', ...args], { CHRONOS_EGRESS_ALLOW: 'loopback' })
  const [, url] = await server.said(/^serving (http\S+)/m)
  return { url: url!.replace(/[,/]*$/, ''), server }
}

async function stopped({ child, ended }: Running): Promise<Ended> {
  child.kill('SIGTERM')
  return ended
}

it('signs with the webhook secret of the configuration, so that replicas share it', async () => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  const path = join(folder, 'secret')
  writeFileSync(path, `${secret}\n`)
  const server = launch(['serve', '--port', '0'], { CHRONOS_WEBHOOK_SECRET_FILE: path })
  const [, url] = await server.said(/^serving (http[^,\s]+)/m)
  const { code, stderr } = await say(['webhooks', 'rotate-secret', 'per-job', '--url', url!])
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('is configured; change `webhookSecret`')])
  expect((await stopped(server)).stderr).not.toContain(secret)
})

describe('worker', () => {
  const jobs = (content: string): string => {
    const path = join(folder, 'jobs.mjs')
    writeFileSync(path, `import { defineJob } from '${LIBRARY}'\n${content}`)
    return path
  }

  it('runs the jobs of a module, and exits with 0 when it is stopped', async () => {
    const path = jobs("export const greet = defineJob({ name: 'greet', queue: 'hello', run: name => 'hello ' + name })")
    const worker = launch(['worker', '--jobs', path])
    await worker.said(/working on .*chronos\.db: 1 job, queues hello, default, 10 at a time/)
    const { code, stdout } = await say([
      ...['enqueue', 'greet', '--payload', '"ada"', '--queue', 'hello', '--wait', '1m', '--json'],
      ...['--store', store],
    ])
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ result: 'hello ada' })])
    expect(await stopped(worker)).toMatchObject({ code: 0, stderr: expect.stringContaining('stopping') })
  })

  it('lets its running job end when it is drained, and exits with 0', async () => {
    const nap = "async (_, job) => { job.log('begun'); await new Promise(resolve => setTimeout(resolve, 3_000)) }"
    const path = jobs(`export const nap = defineJob({ name: 'nap', run: ${nap} })`)
    const worker = launch(['worker', '--jobs', path, '--concurrency', '1'])
    await worker.said(/working on/)
    const { stdout } = await say(['enqueue', 'nap', '--json', '--store', store])
    const { id } = JSON.parse(stdout) as { id: string }
    const chronos = createChronos({ store, log: false })
    const worked = async () => (await chronos.workers()).find(({ running }) => running === 1)
    await vi.waitUntil(worked, { timeout: 60_000 })
    const drained = await say(['workers', 'drain', (await worked())!.id, '--store', store])
    expect([drained.code, drained.stdout + drained.stderr]).toEqual([0, expect.stringContaining('draining worker')])
    expect(await worker.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('its worker was drained') })
    expect((await chronos.jobs.get(id))!.state).toBe('succeeded')
    expect(await chronos.workers()).toEqual([])
    await chronos.close()
    expect((await say(['workers', 'drain', 'gone', '--store', store])).code).toBe(3)
  })

  it('rejects a module without job definitions', async () => {
    const { code, stderr } = await run(['worker', '--jobs', jobs('export const x = 1'), '--store', store], QUIET)
    expect([code, stderr]).toEqual([2, expect.stringContaining('exports no job')])
    const broken = await run(['worker', '--jobs', jobs('export const x = {'), '--store', store], QUIET)
    expect(broken.code).toBe(2)
    expect(broken.stderr).toMatch(/cannot load \S+: Unexpected end of input \(.*jobs\.mjs:2\)/)
    const none = await run(['worker', '--store', store], QUIET)
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no job definitions; give --jobs')])
  })
})

describe('serve', () => {
  it('responds, and prints its address', async () => {
    const { url, server } = await serving()
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect((await say(['enqueue', 'greet', '--url', url])).code).toBe(0)
    expect((await say(['jobs', 'list', '--url', url])).stderr).toBe('1 job\n')
    expect((await stopped(server)).code).toBe(0)
  })

  it('listens only on loopback without a token', async () => {
    const { code, stderr } = await run(['serve', '--port', '0', '--host', '0.0.0.0', '--store', store], QUIET)
    expect([code, stderr]).toEqual([4, expect.stringContaining('there is no token; set CHRONOS_TOKEN')])
  })

  it('reports a port that is in use, and how to choose another', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    for (const command of ['serve', 'dev']) {
      const { code, stderr } = await run([command, '--port', String(port), '--store', store], QUIET)
      expect(code).toBe(4)
      expect(stderr).toContain(`port ${port} is in use; choose another with --port`)
    }
    other.close()
  })
})

describe('a server that is stopped', () => {
  /** A service whose responses the test sends. */
  async function target(): Promise<{ readonly url: string; readonly called: Promise<ServerResponse>; close(): void }> {
    const server = createServer()
    const called = new Promise<ServerResponse>(resolve => server.on('request', (_, response) => resolve(response)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      called,
      close: () => {
        server.closeAllConnections()
        server.close()
      },
    }
  }

  async function draining(url: string): Promise<void> {
    while ((await fetch(`${url}/readyz`)).status !== 503) {}
  }

  const states = async (): Promise<readonly object[]> => {
    const { stdout } = await say(['jobs', 'list', '--json', '--store', store])
    return (JSON.parse(stdout) as { data: object[] }).data
  }

  it('reports not ready, lets running jobs finish, closes streams, and exits with 0', async () => {
    const { url, server } = await serving('--with-worker')
    const slow = await target()
    await say(['http', 'POST', slow.url, '--url', url])
    const stream = (await fetch(`${url}/api/v1/events`)).body!.getReader()
    const response = await slow.called
    server.child.kill('SIGTERM')
    await draining(url)
    expect((await fetch(`${url}/api/v1/jobs`)).status).toBe(200)
    response.end('done')
    for (let over = false; !over; ) over = (await stream.read()).done
    expect((await server.ended).code).toBe(0)
    expect(await states()).toMatchObject([{ state: 'succeeded', attempt: 1 }])
    slow.close()
  })

  it('releases jobs that do not finish in time, without using an attempt', async () => {
    const { url, server } = await serving('--with-worker', '--config', hurried())
    const slow = await target()
    await say(['http', 'POST', slow.url, '--url', url])
    await slow.called
    expect((await stopped(server)).code).toBe(0)
    expect(await states()).toMatchObject([{ state: 'waiting', attempt: 0 }])
    slow.close()
  })

  it('exits immediately on a second signal', async () => {
    const { url, server } = await serving('--with-worker')
    const slow = await target()
    await say(['http', 'POST', slow.url, '--url', url])
    await slow.called
    server.child.kill('SIGTERM')
    await draining(url)
    expect(await stopped(server)).toMatchObject({ code: 143 })
    expect(await states()).toMatchObject([{ state: 'running' }])
    slow.close()
  })

  function hurried(): string {
    const path = join(folder, 'hurried.json')
    writeFileSync(path, '{ "shutdownTimeout": "0s" }')
    return path
  }
})

describe('dev', () => {
  it('prints three commands to try, which all work', async () => {
    const dev = launch(['dev', '--port', '0'])
    const [text] = await dev.said(/[\s\S]*Ctrl-C stops it[^\n]*\n/)
    expect(text).toMatch(/^Chronos is running · Node v\d+.* · SQLite 3\./)
    const [, url] = /Dashboard {2}(http\S+)/.exec(text)!
    expect((await fetch(url!)).status).toBe(200)
    const commands = [...text.matchAll(/^ +\$ (?:npx chronos-jobs|chronos) (.*)$/gm)].map(([, words]) =>
      wordsOf(words!),
    )
    expect(commands.map(([name]) => name)).toEqual(['http', 'schedules', 'top'])
    const [call, schedule, top] = commands
    const called = await say([...call!, '--json'])
    expect([called.code, JSON.parse(called.stdout)]).toEqual([
      0,
      expect.objectContaining({ state: 'succeeded', attempt: 3 }),
    ])
    expect((await say(schedule!)).stdout).toContain('schedule ping is active: every 10s')
    expect((await say([...top!, '--once'])).stdout).toContain('default')
    expect((await stopped(dev)).code).toBe(0)
  })

  it('leaves jobs to a pull worker, as its guide says', async () => {
    const dev = launch(['dev', '--port', '0'])
    const [, url] = await dev.said(/Dashboard {2}(http\S+)\//)
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await answer.json()) as Record<string, unknown>
    }
    // The worker of the server meets the first ones, and has no handler for them.
    for (const name of ['resize', 'resize']) await post('jobs', { name, queue: 'images' })
    const claim = { workerId: 'python', queues: ['images'], limit: 10, wait: '20s' }
    const claimed: unknown[] = []
    while (claimed.length < 2) claimed.push(...((await post('leases:claim', claim))['data'] as unknown[]))
    expect(claimed).toMatchObject(Array(2).fill({ job: { name: 'resize', attempt: 1 } }))
    expect((await stopped(dev)).code).toBe(0)
  })

  it('serves new queues', async () => {
    const dev = launch(['dev', '--port', '0'])
    const [, url] = await dev.said(/Dashboard {2}(http\S+)\//)
    const { code } = await say(['http', 'GET', `${url}/__echo`, '--queue', 'new', '--wait', '1m', '--url', url!])
    expect(code).toBe(0)
    expect((await stopped(dev)).code).toBe(0)
  })

  it('seeds demo data', async () => {
    const dev = launch(['dev', '--port', '0', '--demo'])
    await dev.said(/Ctrl-C stops it/)
    const demo = ['payments', 'mail', 'invoices', 'search', 'exports', 'stock']
    let queues: readonly string[] = []
    // Other queues, such as that of webhook deliveries, may exist before the last of these.
    while (demo.some(name => !queues.includes(name))) {
      const { stdout } = await say(['queues', 'list', '--json', '--store', store])
      queues = stdout === '' ? [] : (JSON.parse(stdout) as { data: { name: string }[] }).data.map(({ name }) => name)
    }
    expect(queues).toEqual(expect.arrayContaining(demo))
    expect((await stopped(dev)).code).toBe(0)
  })
})

/** Splits a command line like a shell. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
}
