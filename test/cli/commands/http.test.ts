import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import { createChronos } from '../../../src/index.js'
import { hear, startReceiver } from '../../support/receiver.js'
import { type Said, type Surroundings, say } from '../memory-io.js'

const URL_ = 'https://api.example/orders'

let folder: string
let store: string
let chronos: Chronos

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  chronos = createChronos({ store, log: false, egress: { allow: ['loopback'] } })
})

afterEach(async () => {
  await chronos.close()
  rmSync(folder, { recursive: true, force: true })
})

const http = (argv: string[], around: Surroundings = {}): Promise<Said> =>
  say(['http', ...argv, '--store', store], around)

describe('http', () => {
  it.each<[what: string, argv: () => string[], payload: unknown, around?: Surroundings]>([
    ['an address alone', () => [URL_], { url: URL_ }],
    ['a method', () => ['delete', URL_], { url: URL_, method: 'delete' }],
    [
      'JSON',
      () => ['POST', URL_, '--data', '{"id": 17}'],
      { method: 'POST', url: URL_, body: '{"id": 17}', headers: { 'content-type': 'application/json' } },
    ],
    ['text', () => [URL_, '--data', 'a=1'], { url: URL_, body: 'a=1' }],
    ['stdin', () => [URL_, '--data', '-'], { url: URL_, body: 'from afar' }, { stdin: ['from ', 'afar'] }],
    ['a file', () => [URL_, '--data', `@${join(folder, 'page.html')}`], { url: URL_, body: '<p>' }],
    [
      'headers',
      () => [URL_, '--header', 'Authorization: Bearer a:b', '--header', 'Content-Type:text/html', '--data', '1'],
      { url: URL_, body: '1', headers: { Authorization: 'Bearer a:b', 'Content-Type': 'text/html' } },
    ],
    [
      'everything else',
      () => [
        ...[URL_, '--expect', '200, 404,3xx', '--follow-redirects', '2', '--retry-client-errors', '--no-capture-body'],
        ...['--timeout', '5s'],
      ],
      {
        url: URL_,
        expectedStatuses: [200, 404, '3xx'],
        followRedirects: 2,
        retryClientErrors: true,
        captureBody: false,
        timeout: '5s',
      },
    ],
  ])('accepts %s', async (_, argv, payload, around) => {
    writeFileSync(join(folder, 'page.html'), '<p>')
    const { code, stdout } = await http(argv(), around)
    expect(code).toBe(0)
    expect(await chronos.jobs.get(stdout.trim())).toMatchObject({ name: 'http', payload, maxRetries: 3 })
  })

  it('accepts the options of every new job', async () => {
    const { stdout } = await http([
      URL_,
      '--key',
      'k',
      '--queue',
      'calls',
      '--at-most-once',
      '--retry',
      'none',
      '--tag',
      'a',
    ])
    expect(await chronos.jobs.get(stdout.trim())).toMatchObject({
      key: 'k',
      queue: 'calls',
      delivery: 'at-most-once',
      tags: ['a'],
      retry: { maxRetries: 0 },
    })
  })

  it.each<[argv: string[], message: RegExp]>([
    [['nowhere'], /^error: http\.url: expected an address such as/],
    [['FETCH', URL_], /^error: http\.method: expected one of GET, HEAD/],
    [[URL_, '--header', 'nothing'], /^error: --header: expected 'Name: value', got "nothing"/],
    [[URL_, '--header', 'Host: x'], /^error: http\.headers: "Host" is set by Chronos/],
    [[URL_, '--expect', 'good'], /^error: http\.expectedStatuses\[0\]: expected a status from 100 to 599/],
    [[URL_, '--data', '@nowhere.json'], /^error: --data: cannot read nowhere\.json/],
  ])('rejects %j', async (argv, message) => {
    const { code, stdout, stderr } = await http(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  it('waits for the response that a worker receives', async () => {
    await using receiver = await startReceiver(async (request, response) => {
      const { body } = await hear(request)
      response.writeHead(body === 'good' ? 200 : 400).end()
    })
    chronos.work([], { signals: false })
    const good = await http([receiver.origin, '--data', 'good', '--wait', '20s', '--json'])
    expect(good.code).toBe(0)
    expect(JSON.parse(good.stdout)).toMatchObject({ state: 'succeeded', result: { status: 200 } })
    const bad = await http([receiver.origin, '--data', 'bad', '--wait', '20s'])
    expect(bad.code).toBe(7)
    expect(bad.stderr).toContain(`died (permanent): HttpError: POST ${receiver.origin} answered 400`)
  })

  it('creates a schedule with --cron, and rejects options of a single job', async () => {
    const store = `sqlite:${join(folder, 'cron.db')}`
    const url = 'https://api.example/ping'
    const made = await say([
      'http',
      'POST',
      url,
      '--cron',
      '*/5 * * * *',
      '--tz',
      'Europe/Paris',
      '--json',
      '--store',
      store,
    ])
    expect(JSON.parse(made.stdout)).toMatchObject({
      id: 'api.example',
      cron: '*/5 * * * *',
      timeZone: 'Europe/Paris',
      job: 'http',
    })
    const refused = await say(['http', url, '--cron', '* * * * *', '--run-at', '2027-01-01', '--store', store])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--run-at applies to one job and cannot be used with --cron')
  })
})
