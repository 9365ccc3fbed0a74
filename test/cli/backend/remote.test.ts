import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { createServer } from '../../../src/server.js'
import { type DeadLetters, die, WAREHOUSE } from '../commands/dead/dead-letters.js'
import { type Said, say } from '../memory-io.js'

const TOKEN = 'correct-horse-battery-staple'

/** Two identical files: commands use one directly, and the other through a server. */
let folder: string
let letters: DeadLetters
let url: string
let close: () => Promise<void>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-remote-'))
  letters = await die(join(folder, 'direct.db'))
  await say(['schedules', 'put', 'digest', '--cron', '0 9 * * MON', '--tz', 'Europe/Paris', '--job', 'x', ...direct()])
  await say(['webhooks', 'create', 'https://example.com/hook', '--event', 'job.dead', ...direct()])
  // The test must not send deliveries.
  await say(['queues', 'pause', 'chronos:deliveries', ...direct()])
  copyFileSync(join(folder, 'direct.db'), join(folder, 'served.db'))
  const chronos = createChronos({ store: `sqlite:${join(folder, 'served.db')}`, log: false })
  const server = createServer(chronos, { log: false, dashboard: false, token: TOKEN })
  url = (await server.listen({ port: 0 })).url
  close = async () => {
    await server.close()
    await chronos.close()
  }
})
afterAll(async () => {
  await close()
  rmSync(folder, { recursive: true, force: true })
})

const direct = (): readonly string[] => ['--store', `sqlite:${join(folder, 'direct.db')}`]
const remote = (argv: readonly string[], token = TOKEN): Promise<Said> => say([...argv, '--url', url, '--token', token])

/** Replaces new ids, secrets and times, which differ between two runs; equal values get equal names. */
function normal(text: string, known: ReadonlySet<string>): unknown {
  const seen = new Map<string, string>()
  const named = (found: string, kind: string): string => {
    if (!seen.has(found)) seen.set(found, `<${kind} ${seen.size}>`)
    return seen.get(found)!
  }
  return JSON.parse(
    text
      .replace(/wh_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, id =>
        known.has(id) ? id : named(id, 'id'),
      )
      .replace(/(whsec|chr)_[\w+/=<> -]+/g, '<secret>')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replace(/the oldest for [\w ]+/g, 'the oldest for <while>')
      .replace(/msg_[0-9a-f]{32}/g, '<message>')
      // A server starts it immediately; with a store, the next worker does.
      .replace(/"(\w*Ms|now|drawn|pending|started)": [\d.]+/g, '"$1": 0'),
  )
}

async function both(argv: readonly string[]): Promise<readonly [unknown, unknown]> {
  const known = new Set([...letters.mails, ...letters.syncs, letters.unknown, letters.succeeded])
  const [here, there] = [await say([...argv, '--json', ...direct()]), await remote([...argv, '--json'])]
  expect([here.code, here.stderr]).toEqual([0, expect.any(String)])
  expect([there.code, there.stderr]).toEqual([0, here.stderr])
  return [normal(here.stdout, known), normal(there.stdout, known)]
}

const READS: readonly (readonly string[])[] = [
  ['jobs', 'list'],
  ['jobs', 'list', '--state', 'dead,cancelled', '--queue', 'mail', '--limit', '3'],
  ['jobs', 'list', '--created-after', '2h'],
  ['jobs', 'list', '--search', 'user7'],
  ['jobs', 'list', '--error', 'mailbox'],
  ['jobs', 'list', '--phase', 'succeeded'],
  ['jobs', 'get', 'MAIL'],
  ['jobs', 'history', 'SYNC'],
  ['jobs', 'logs', 'SYNC'],
  ['jobs', 'timeline', 'SYNC'],
  ['jobs', 'explain', 'SYNC'],
  ['dead', 'list', '--group', WAREHOUSE],
  ['dead', 'list', '--no-acknowledged', '--reason', 'permanent'],
  ['dead', 'groups'],
  ['dead', 'groups', '--all', '--limit', '2'],
  ['dead', 'group', WAREHOUSE],
  ['dead', 'redrive', '--queue', 'mail', '--dry-run'],
  ['dead', 'discard', '--queue', 'mail', '--dry-run'],
  ['jobs', 'retry', '--queue', 'mail', '--dry-run'],
  ['redrives', 'list'],
  ['queues', 'list'],
  ['schedules', 'list'],
  ['webhooks', 'list'],
  ['circuits', 'list'],
  ['alerts', 'list'],
  ['alerts', 'rules'],
  ['alerts', 'silences'],
  ['workers'],
  ['stats'],
  ['incident', '--from', '2h'],
  ['forecast'],
  ['verify'],
  ['tokens', 'list'],
]

/** Run in this order; each command depends on the ones before it. */
const WRITES: readonly (readonly string[])[] = [
  ['enqueue', 'greet', '--payload', '{"a": 1}', '--key', 'k:1', '--tag', 'x', '--delay', '2h', '--priority', '7'],
  ['enqueue', 'greet', '--payload', '{"a": 1}', '--key', 'k:1'],
  ['enqueue', 'later', '--run-at', '2099-01-01T00:00Z', '--deadline', '2099-02-01T00:00Z', '--tenant', 'acme'],
  ['enqueue', 'patient', '--retry', '{"maxRetries": 8}', '--deadline', '7d', '--at-most-once'],
  ['http', 'POST', 'https://example.com/x', '--data', '{"b": 2}', '--timeout', '5s'],
  ['jobs', 'retry', 'MAIL'],
  ['jobs', 'reschedule', 'MAIL', '--delay', '15m'],
  ['jobs', 'reschedule', 'MAIL', '--run-at', '2099-01-01T00:00Z'],
  ['jobs', 'edit', 'MAIL', '--queue', 'slow', '--priority', '2', '--payload', '{"to": "ada"}', '--tag', 'seen'],
  ['jobs', 'edit', 'MAIL', '--retry', 'none', '--deadline', '30d'],
  ['jobs', 'edit', 'MAIL', '--timeout', 'none', '--deadline', '2099-02-01T00:00Z'],
  ['jobs', 'edit', 'MAIL', '--deadline', 'none'],
  ['jobs', 'run-now', 'MAIL'],
  ['jobs', 'cancel', 'MAIL'],
  ['jobs', 'replay', 'SYNC'],
  ['jobs', 'delete', 'MAIL'],
  ['jobs', 'cancel', '--name', 'greet', '--yes'],
  ['jobs', 'delete', '--state', 'cancelled', '--yes'],
  ['dead', 'acknowledge', '--queue', 'mail', '--yes'],
  ['dead', 'discard', '--group', WAREHOUSE, '--yes'],
  ['dead', 'resolve', WAREHOUSE],
  ['dead', 'redrive', '--queue', 'mail', '--rate', '5/s', '--yes', '--detach'],
  ['queues', 'set', 'mail', '--retry', 'financial'],
  ['queues', 'pause', 'mail'],
  ['queues', 'resume', 'mail'],
  ['queues', 'set', 'mail', '--reset'],
  ['schedules', 'put', 'ping', '--every', '30s', '--call', 'https://example.com/ping', '--end-at', '2099-01-01T00:00Z'],
  ['schedules', 'put', 'ping', '--every', '40s', '--job', 'greet', '--payload', '{"c": 3}', '--if-version', '1'],
  ['schedules', 'pause', 'ping'],
  ['schedules', 'resume', 'ping'],
  ['schedules', 'run', 'ping'],
  ['schedules', 'delete', 'ping'],
  ['webhooks', 'create', 'https://example.com/hook', '--event', 'job.dead', '--queue', 'mail'],
  ['webhooks', 'disable', 'HOOK'],
  ['webhooks', 'enable', 'HOOK'],
  ['webhooks', 'test', 'HOOK'],
  ['webhooks', 'deliveries', 'HOOK'],
  ['webhooks', 'rotate-secret', 'HOOK'],
  ['webhooks', 'recover', 'HOOK', '--since', '2026-01-01T00:00Z'],
  ['webhooks', 'delete', 'HOOK'],
  ['alerts', 'set', 'dead-letters', '--fire', '7'],
  ['alerts', 'silence', '--for', '2h', '--comment', 'known'],
  ['tokens', 'create', 'deploy', '--role', 'operator', '--expires-in', '90d'],
]

async function filled(argv: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await say(['webhooks', 'list', '--json', ...direct()])
  const hook = (JSON.parse(stdout) as { data: { id: string }[] }).data[0]?.id ?? ''
  const names: Readonly<Record<string, string>> = { MAIL: letters.mails[3]!, SYNC: letters.syncs[0]!, HOOK: hook }
  return argv.map(word => names[word] ?? word)
}

describe('a command on a server', () => {
  it.each(READS.map(argv => [argv.join(' '), argv] as const))('prints the same as on a store: %s', async (_, argv) => {
    const [here, there] = await both(await filled(argv))
    expect(there).toEqual(here)
  })

  describe('does the same as on a store', () => {
    for (const argv of WRITES) {
      it(argv.join(' '), async () => {
        const [here, there] = await both(await filled(argv))
        expect(withoutKey(there)).toEqual(withoutKey(here))
      })
    }
  })
})

/** Removes the key that a server gives to a job that was enqueued without one. */
function withoutKey(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('key' in value)) return value
  const { key, ...rest } = value as Record<string, unknown>
  return String(key).startsWith('request:') ? rest : value
}

describe('a command that a server rejects', () => {
  it.each([
    [['jobs', 'get', 'missing'], 3, 'there is no job "missing"'],
    [['redrives', 'get', 'missing'], 3, 'there is no redrive'],
    [['jobs', 'retry', 'DONE'], 4, 'only a dead or cancelled job can be retried'],
    [['enqueue', 'bad\tname'], 2, 'expected 1 to 128 letters'],
    [['enqueue', 'a', '--delay', 'soon'], 2, 'delay: expected a duration'],
    [['jobs', 'list', '--cursor', 'zzz'], 2, 'cursor'],
    [['http', 'POST', 'http://127.0.0.1:1/x'], 4, 'http.url: '],
    [['schedules', 'put', 'digest', '--every', '1m', '--job', 'x', '--if-version', '9'], 5, 'version'],
    [['webhooks', 'create', 'http://10.0.0.1/x', '--event', 'job.dead'], 4, 'url'],
  ])('%j exits as on a store', async (argv, code, words) => {
    const given = argv.map(word => (word === 'DONE' ? letters.succeeded : word))
    const [here, there] = [await say([...given, ...direct()]), await remote(given)]
    expect([there.code, there.stdout]).toEqual([code, ''])
    expect(there.stderr).toContain(words)
    if (argv[0] !== 'http') expect(here.code).toBe(code)
  })

  it('exits with 4 and suggests --token if the token is wrong', async () => {
    const { code, stderr } = await remote(['jobs', 'list'], 'not-the-right-token')
    expect(code).toBe(4)
    expect(stderr).toContain('invalid token')
    expect(stderr).toContain('give a token with --token or CHRONOS_TOKEN (NOT_ALLOWED)')
  })

  it('exits with 4 if the role of the token is too low', async () => {
    const { stdout } = await remote(['tokens', 'create', 'guest', '--role', 'viewer'])
    const guest = stdout.trim()
    expect((await remote(['jobs', 'list'], guest)).code).toBe(0)
    const { code, stderr } = await remote(['queues', 'pause', 'mail'], guest)
    expect([code, stderr]).toEqual([4, expect.stringContaining('role operator required')])
  })

  it("shows only the tenant's jobs with a tenant's token", async () => {
    const { stdout } = await remote(['tokens', 'create', 'acme', '--role', 'operator', '--tenant', 'acme'])
    const acme = stdout.trim()
    const listed = await remote(['jobs', 'list', '--json'], acme)
    expect(listed.code).toBe(0)
    const { data } = JSON.parse(listed.stdout) as { data: { tenantId?: string }[] }
    expect(data.every(({ tenantId }) => tenantId === 'acme')).toBe(true)
    expect((await remote(['stats'], acme)).code).toBe(4)
    expect((await remote(['jobs', 'get', letters.succeeded], acme)).code).toBe(3)
  })

  it.each([['migrate'], ['doctor'], ['prune', '--dead', '1d'], ['backup', 'x.db']])(
    'says that it needs the store: %s',
    async (...argv) => {
      const { code, stderr } = await say(argv, { env: { CHRONOS_URL: url } })
      expect([code, stderr]).toEqual([2, expect.stringContaining('does not work through a server')])
    },
  )
})

const ANSWER = JSON.stringify({ id: 'x', status: 'created', now: '2026-01-01T00:00:00.000Z', store: {} })

describe('an unavailable server', () => {
  it('is reported as unreachable', async () => {
    const gone = createHttpServer().listen(0, '127.0.0.1')
    await new Promise(resolve => gone.once('listening', resolve))
    const at = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`
    await new Promise(resolve => gone.close(resolve))
    const { code, stderr } = await say(['jobs', 'list', '--url', at])
    expect([code, stderr]).toEqual([6, expect.stringContaining(`cannot reach ${at} (ECONNREFUSED)`)])
  })

  it('is distinguished from a server that is not Chronos', async () => {
    const other = createHttpServer((request, response) => {
      if (request.url?.startsWith('/away')) response.writeHead(302, { location: 'https://x.example/' }).end()
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello')
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => other.once('listening', resolve))
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const html = await say(['jobs', 'list', '--url', at])
    expect([html.code, html.stderr]).toEqual([6, expect.stringContaining('is not a Chronos server')])
    const away = await say(['jobs', 'list', '--url', `${at}/away`])
    expect([away.code, away.stderr]).toEqual([6, expect.stringContaining('it redirects to https://x.example/')])
    other.close()
  })

  it('is called again if the request is safe to repeat', async () => {
    const asked: string[] = []
    const shaky = createHttpServer((request, response) => {
      asked.push(`${request.method} ${request.headers['idempotency-key'] ?? ''}`)
      if (asked.length % 2 === 1) request.socket.destroy()
      else response.writeHead(201, { 'content-type': 'application/json' }).end(ANSWER)
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => shaky.once('listening', resolve))
    const at = ['--url', `http://127.0.0.1:${(shaky.address() as AddressInfo).port}`]
    expect((await say(['enqueue', 'greet', ...at])).stdout).toBe('x\n')
    expect(asked[0]).toMatch(/^POST [0-9a-f]{32}$/)
    expect(asked[1]).toBe(asked[0])
    asked.length = 0
    expect((await say(['jobs', 'cancel', 'x', ...at])).code).toBe(6)
    expect(asked).toEqual(['GET ', 'GET ', 'POST '])
    shaky.close()
  })
})
