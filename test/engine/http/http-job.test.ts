import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import type { EnqueueOptions } from '../../../src/engine/client/enqueuer.js'
import { createChronos, defineJob, type EventName, type Events, type HttpRequest } from '../../../src/index.js'
import { testChronos } from '../../../src/testing.js'
import { type Heard, hear, type Receiver, startReceiver, startSocketReceiver } from '../../support/receiver.js'

const QUICK: EnqueueOptions = { retry: { maxRetries: 1, backoff: { type: 'fixed', delay: 1 }, jitter: 'none' } }

type Options = Parameters<typeof createChronos>[0]

function start(options: Partial<Options> = {}): Chronos {
  const chronos = createChronos({ store: 'memory:', log: false, egress: { allow: ['loopback'] }, ...options })
  chronos.work([], { signals: false })
  return chronos
}

const next = <Name extends EventName>(chronos: Pick<Chronos, 'on'>, name: Name): Promise<Events[Name]> =>
  new Promise(resolve => {
    const off = chronos.on(name, event => {
      off()
      resolve(event)
    })
  })

/** Runs one request to its end. */
async function life(chronos: Chronos, request: HttpRequest, options: EnqueueOptions = QUICK) {
  const over = Promise.race([next(chronos, 'job.succeeded'), next(chronos, 'job.dead')])
  const { id } = await chronos.http(request, options)
  await over
  const [job, { data: history }, { data: logs }] = await Promise.all([
    chronos.jobs.get(id),
    chronos.jobs.history(id),
    chronos.jobs.logs(id),
  ])
  return { job: job!, history: [...history].reverse(), logs }
}

type Answer = number | ((response: ServerResponse) => unknown)

/** Answers as told, the last one again and again, and remembers what was asked. */
async function startScript(...answers: readonly Answer[]): Promise<Receiver & { readonly heard: Heard[] }> {
  const heard: Heard[] = []
  const receiver = await startReceiver(async (request, response) => {
    heard.push(await hear(request))
    const answer = answers[Math.min(heard.length, answers.length) - 1]!
    if (typeof answer === 'number') response.writeHead(answer).end(`status ${answer}`)
    else answer(response)
  })
  return Object.assign(receiver, { heard })
}

describe('what is sent', () => {
  it('contains the job, the attempt and the due time', async () => {
    await using receiver = await startScript(500, 200)
    await using chronos = start()
    const { job, history } = await life(chronos, {
      url: `${receiver.origin}/orders?page=2`,
      body: { cents: 4200 },
      headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'X-Shop': 'a' },
    })
    const [first, second] = receiver.heard
    expect(first).toMatchObject({
      method: 'POST',
      path: '/orders?page=2',
      body: '{"cents":4200}',
      headers: {
        'content-type': 'application/json',
        'content-length': '14',
        'accept-encoding': 'identity',
        'user-agent': 'chronos-jobs',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        'x-shop': 'a',
        'idempotency-key': `"${job.id}"`,
        'x-chronos-job-id': job.id,
        'x-chronos-attempt': '1',
        'x-chronos-max-attempts': '2',
        'x-chronos-scheduled-at': job.createdAt,
      },
    })
    expect(second!.body).toBe(first!.body)
    expect(second!.headers).toMatchObject({
      'x-chronos-attempt': '2',
      'idempotency-key': `"${job.id}"`,
      'x-chronos-scheduled-at': history[0]!.nextRunAt,
    })
  })

  it.each<[key: string, header: string]>([
    ['order:17', '"order:17"'],
    ['say "hi"\\', '"say \\"hi\\"\\\\"'],
    ['größe', '"gr%C3%B6%C3%9Fe"'],
  ])('has the key %s over attempts and redrives', async (key, header) => {
    await using receiver = await startScript(400)
    await using chronos = start()
    const { job } = await life(chronos, { url: receiver.origin, method: 'PATCH' }, { ...QUICK, key })
    const again = next(chronos, 'job.dead')
    await chronos.jobs.retry(job.id)
    await again
    expect(receiver.heard.map(({ headers }) => headers['idempotency-key'])).toEqual([header, header])
  })

  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'] as const)(
    'has no key where %s can be repeated anyway',
    async method => {
      await using receiver = await startScript(204)
      await using chronos = start()
      await life(chronos, { url: receiver.origin, method })
      expect(receiver.heard[0]).toMatchObject({ method })
      expect(receiver.heard[0]!.headers).not.toHaveProperty('idempotency-key')
    },
  )

  it('has the key that the request sets', async () => {
    await using receiver = await startScript(200)
    await using chronos = start()
    await life(chronos, { url: receiver.origin, body: 'x', headers: { 'Idempotency-Key': 'mine' } })
    expect(receiver.heard[0]!.headers['idempotency-key']).toBe('mine')
  })
})

describe('what is kept', () => {
  it('is the result of a success', async () => {
    await using receiver = await startScript(response => {
      response.writeHead(201, { 'content-type': 'application/json', 'x-request-id': 'r1', 'x-other': 'no' })
      response.end('{"ok":true}')
    })
    await using chronos = start()
    const { job, logs } = await life(chronos, { url: receiver.origin })
    expect(job.result).toEqual({
      status: 201,
      headers: { 'content-type': 'application/json', 'x-request-id': 'r1', date: expect.any(String) },
      body: '{"ok":true}',
      timing: { connectMs: expect.any(Number), firstByteMs: expect.any(Number), totalMs: expect.any(Number) },
    })
    expect(logs).toEqual([])
  })

  it('is a line in the log of a failed attempt', async () => {
    await using receiver = await startScript(response => response.writeHead(422).end('{"error":"no such order"}'))
    await using chronos = start()
    const { job, history, logs } = await life(chronos, { url: `${receiver.origin}/secret/path` })
    expect(job).toMatchObject({ state: 'dead', reason: 'permanent' })
    expect(history[0]!.error).toEqual({
      name: 'HttpError',
      message: `GET ${receiver.origin} answered 422`,
      status: 422,
    })
    expect(logs).toMatchObject([
      {
        run: 1,
        message: expect.stringMatching(/^answered 422 in \d+/),
        data: { status: 422, body: '{"error":"no such order"}' },
      },
    ])
  })

  it('is the beginning of a long body, in lines that fit', async () => {
    const text = `"${'ü'.repeat(9_000)}${'x'.repeat(50_000)}`
    await using receiver = await startScript(response => response.writeHead(400).end(text))
    await using chronos = start()
    const { logs } = await life(chronos, { url: receiver.origin })
    const [line, ...parts] = logs
    expect(line!.data).toMatchObject({ status: 400, truncated: true })
    const kept = parts.map(({ data }) => (data as { body: string }).body).join('')
    expect(text.startsWith(kept)).toBe(true)
    // A character that was cut in the middle is left out.
    expect(Buffer.byteLength(kept)).toBeGreaterThanOrEqual(16_383)
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(16_384)
    expect(parts[0]!.message).toBe(`body, part 1 of ${parts.length}`)
  })

  it.each<[what: string, request: Partial<HttpRequest>, answer: (response: ServerResponse) => unknown]>([
    ['is not wanted', { captureBody: false }, response => response.end('text')],
    ['is not text', {}, response => response.end(Buffer.from([0xff, 0xfe, 0xfd]))],
    ['is packed', {}, response => response.writeHead(200, { 'content-encoding': 'gzip' }).end('????')],
  ])('is nothing of a body that %s', async (_, request, answer) => {
    await using receiver = await startScript(answer)
    await using chronos = start()
    const { job } = await life(chronos, { url: receiver.origin, ...request })
    expect(job.state).toBe('succeeded')
    expect(job.result).not.toHaveProperty('body')
  })

  it('has none of the secrets that were sent or answered', async () => {
    const canaries = ['c4nary-bearer', 'c4nary-cookie', 'c4nary-apikey', 'c4nary-query', 'c4nary-answer', 'c4nary-path']
    const lines: string[] = []
    await using receiver = await startReceiver(async (request, response) => {
      const { headers, path } = await hear(request)
      const location = 'https://u:c4nary-answer@a.example/?token=c4nary-answer'
      response.writeHead(request.url === '/fail?token=c4nary-query' ? 500 : 200, {
        'set-cookie': 'session=c4nary-answer',
        authorization: 'c4nary-answer',
        location,
      })
      response.end(`you sent ${headers.authorization} ${headers.cookie} ${headers['x-api-key']} ${path.split('?')[1]}`)
    })
    const log = pino({ level: 'debug' }, { write: line => void lines.push(line) })
    await using chronos = start({ log })
    const headers = {
      authorization: 'Bearer c4nary-bearer',
      cookie: 'a=c4nary-cookie; b=2',
      'x-api-key': 'c4nary-apikey',
    }
    for (const path of ['/fail', '/c4nary-path']) {
      const { job, history, logs } = await life(chronos, {
        url: `${receiver.origin}${path}?token=c4nary-query`,
        headers,
      })
      const { payload, ...rest } = job
      expect(JSON.stringify(payload)).toContain('c4nary-bearer')
      const kept = JSON.stringify([rest, history, logs, await chronos.dead.groups()])
      expect(kept).toContain('you sent [hidden]')
      for (const canary of canaries) expect(kept, canary).not.toContain(canary)
    }
    expect(lines.length).toBeGreaterThan(0)
    for (const canary of canaries) expect(lines.join('')).not.toContain(canary)
  })
})

describe('an answer', () => {
  it.each<[status: number, reason: string, sent: number]>([
    [301, 'permanent', 1],
    [304, 'permanent', 1],
    [400, 'permanent', 1],
    [401, 'permanent', 1],
    [404, 'permanent', 1],
    [405, 'permanent', 1],
    [408, 'exhausted', 2],
    [409, 'permanent', 1],
    [410, 'permanent', 1],
    [418, 'permanent', 1],
    [425, 'exhausted', 2],
    [429, 'exhausted', 2],
    [500, 'exhausted', 2],
    [501, 'exhausted', 2],
    [502, 'exhausted', 2],
    [503, 'exhausted', 2],
    [504, 'exhausted', 2],
    [511, 'exhausted', 2],
    [522, 'exhausted', 2],
    [599, 'exhausted', 2],
  ])('with status %i ends as %s after %i', async (status, reason, sent) => {
    await using receiver = await startScript(status)
    await using chronos = start()
    const { job } = await life(chronos, { url: receiver.origin })
    expect(job).toMatchObject({ state: 'dead', reason, error: { status } })
    expect(receiver.heard).toHaveLength(sent)
  })

  it.each<[method: 'POST' | 'GET', state: string, sent: number]>([
    ['POST', 'succeeded', 3],
    ['GET', 'dead', 2],
  ])('may be a conflict with ourselves if it is a 409 to a repeated %s', async (method, state, sent) => {
    await using receiver = await startScript(500, 409, 200)
    await using chronos = start()
    const { job } = await life(
      chronos,
      { url: receiver.origin, method },
      { retry: { ...(QUICK.retry as object), maxRetries: 3 } },
    )
    expect(job.state).toBe(state)
    expect(receiver.heard).toHaveLength(sent)
  })

  it('is retried if it is a 4xx and the request says so', async () => {
    await using receiver = await startScript(404, 403, 200)
    await using chronos = start()
    const retry = { maxRetries: 5, backoff: { type: 'fixed', delay: 1 } } as const
    const { job } = await life(chronos, { url: receiver.origin, retryClientErrors: true }, { retry })
    expect(job).toMatchObject({ state: 'succeeded', attempt: 3 })
  })

  it.each<[expected: HttpRequest['expectedStatuses'], status: number, state: string]>([
    [[404], 404, 'succeeded'],
    [['3xx'], 302, 'succeeded'],
    [[[500, 503]], 503, 'succeeded'],
    [[201], 200, 'dead'],
  ])('that is expected (%j) makes %i %s', async (expectedStatuses, status, state) => {
    await using receiver = await startScript(status)
    await using chronos = start()
    const { job } = await life(chronos, { url: receiver.origin, expectedStatuses: expectedStatuses! })
    expect(job.state).toBe(state)
    expect(receiver.heard).toHaveLength(1)
  })

  it('is judged by the rules of the policy first', async () => {
    await using receiver = await startScript(404)
    await using chronos = start()
    const rules = [{ when: { status: ['4xx'] as const }, as: 'transient' as const }]
    const { history } = await life(
      chronos,
      { url: receiver.origin },
      { retry: { maxRetries: 1, backoff: { type: 'fixed', delay: 1 }, rules } },
    )
    expect(history[0]!.decision).toMatchObject({ kind: 'transient', rule: 'rule 1 (status 404)' })
    expect(receiver.heard).toHaveLength(2)
  })

  it.each<[what: string, headers: Record<string, string>, delayMs: number]>([
    ['in seconds', { 'retry-after': '7' }, 7_000],
    // Its clock is years off; what it means is the time between the two.
    ['as a date', { date: 'Mon, 01 Jan 2001 00:00:00 GMT', 'retry-after': 'Mon, 01 Jan 2001 00:00:09 GMT' }, 9_000],
  ])('with Retry-After, %s, is honoured', async (_, headers, delayMs) => {
    await using receiver = await startScript(response => response.writeHead(503, headers).end())
    await using chronos = start()
    const retrying = next(chronos, 'job.retrying')
    const { id } = await chronos.http({ url: receiver.origin }, QUICK)
    expect((await retrying).delayMs).toBe(delayMs)
    const { data } = await chronos.jobs.history(id)
    expect(data[0]!.decision).toMatchObject({ kind: 'throttled', retryAfterMs: delayMs })
  })

  it('through a redirect is asked for', async () => {
    await using receiver = await startReceiver((request, response) => {
      if (request.url === '/old') response.writeHead(301, { location: '/new' }).end()
      else response.end('moved')
    })
    await using chronos = start()
    const { job } = await life(chronos, { url: `${receiver.origin}/old`, followRedirects: 1 })
    expect(job.result).toMatchObject({ status: 200, redirects: 1, body: 'moved' })
  })
})

describe('no answer', () => {
  it('in time is a timeout', async () => {
    await using receiver = await startSocketReceiver(socket => socket.resume())
    await using chronos = start()
    const { job, history } = await life(chronos, { url: receiver.origin, timeout: 100 })
    expect(job).toMatchObject({ state: 'dead', reason: 'exhausted', attempt: 2 })
    expect(history).toMatchObject([
      {
        status: 'timed-out',
        error: { name: 'TimeoutError', message: `GET ${receiver.origin} took longer than 100ms` },
      },
      { status: 'timed-out' },
    ])
  })

  it('in the time that the options of the job give is one too', async () => {
    await using receiver = await startSocketReceiver(socket => socket.resume())
    await using chronos = start()
    const { history } = await life(chronos, { url: receiver.origin }, { ...QUICK, timeout: 100 })
    expect(history[0]).toMatchObject({ status: 'timed-out' })
  })

  it('because the port is closed is retried', async () => {
    await using chronos = start()
    const { job, history } = await life(chronos, { url: 'http://127.0.0.1:1/' })
    expect(job).toMatchObject({ state: 'dead', reason: 'exhausted', error: { code: 'ECONNREFUSED' } })
    expect(history).toHaveLength(2)
  })

  it('is no longer awaited once the job is cancelled', async () => {
    await using chronos = start()
    let id = ''
    await using receiver = await startSocketReceiver(socket => {
      socket.on('data', () => void chronos.jobs.cancel(id))
    })
    const cancelled = next(chronos, 'job.cancelled')
    id = (await chronos.http({ url: receiver.origin })).id
    await cancelled
    await receiver.deserted()
    expect(receiver.connections).toBe(1)
  })
})

describe('at most once', () => {
  const reset = async (socket: Socket): Promise<void> => {
    await once(socket, 'data')
    socket.resetAndDestroy()
  }
  const never = (): Promise<string[]> => new Promise(() => {})

  /** Long enough for a request to leave on a busy machine. */
  const SILENCE_MS = 2_000

  it.each<[what: string, target: () => Promise<Receiver>, state: string, reason: string | undefined]>([
    ['an expected status', () => startScript(200), 'succeeded', undefined],
    ['any other status', () => startScript(503), 'dead', 'failed'],
    ['a Retry-After', () => startScript(429), 'dead', 'failed'],
    ['a reset', () => startSocketReceiver(socket => void reset(socket)), 'dead', 'unknown-outcome'],
    ['silence', () => startSocketReceiver(socket => socket.resume()), 'dead', 'unknown-outcome'],
  ])('%s is the end', async (what, target, state, reason) => {
    await using receiver = await target()
    await using chronos = start()
    const { job, history } = await life(
      chronos,
      { url: receiver.origin, body: 'x', timeout: what === 'silence' ? SILENCE_MS : '1m' },
      { delivery: 'at-most-once' },
    )
    expect(job.state).toBe(state)
    expect(job.reason).toBe(reason)
    expect(history).toHaveLength(1)
    expect(receiver.connections).toBe(1)
  })

  it.each<[what: string, url: string, lookup: () => Promise<string[]>]>([
    ['the port is closed', 'http://127.0.0.1:1/', never],
    ['there is no such name', 'http://nowhere.example/', async () => []],
    ['it may not go there', 'http://inside.example/', async () => ['10.0.0.1']],
    ['its name is not found in time', 'http://slow.example/', never],
  ])('a request that was never sent because %s is known to have failed', async (_, url, lookup) => {
    await using chronos = start({ egress: { allow: ['loopback'], lookup } })
    const { job, history } = await life(chronos, { url, timeout: 300 }, { delivery: 'at-most-once' })
    expect(job).toMatchObject({ state: 'dead', reason: 'failed' })
    expect(history).toHaveLength(1)
  })
})

describe('where it may go', () => {
  it('is checked when the job is enqueued', async () => {
    await using chronos = start({ egress: {} })
    await expect(chronos.http({ url: 'http://169.254.169.254/' })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringMatching(/^http\.url: the egress rules do not allow this address; the operator of Chronos/),
    })
  })

  it.each(['http://127.0.0.1:3000/', 'http://metadata/', 'https://example.com:22/'])(
    'is checked when it is sent: %s',
    async url => {
      await using chronos = start({ egress: {} })
      const dead = next(chronos, 'job.dead')
      const { id } = await chronos.enqueue('http', { url })
      expect(await dead).toMatchObject({ reason: 'blocked', error: { code: 'ESSRFBLOCKED' } })
      const { error } = (await chronos.jobs.get(id))!
      expect(error!.message).not.toContain(new URL(url).hostname)
    },
  )

  it('is explained in the log of the worker, not to the caller', async () => {
    const lines: Record<string, unknown>[] = []
    const log = pino({}, { write: line => void lines.push(JSON.parse(line)) })
    await using chronos = start({ log, egress: { lookup: async () => ['10.0.0.9'] } })
    const { job } = await life(chronos, { url: 'http://shop.example/' })
    expect(job.reason).toBe('blocked')
    expect(lines.find(({ event }) => event === 'egress.blocked')).toMatchObject({ by: 'dns', host: 'shop.example' })
  })
})

describe('the job named http', () => {
  it('can be run by every worker, and no other definition may take its name', async () => {
    await using receiver = await startScript(200)
    const other = defineJob({ name: 'other', queue: 'calls', run: () => {} })
    await using chronos = createChronos({ store: 'memory:', log: false, egress: { allow: ['loopback'] } })
    chronos.work([other], { signals: false })
    const { job } = await life(chronos, { url: receiver.origin }, { queue: 'calls' })
    expect(job).toMatchObject({ name: 'http', state: 'succeeded' })
    expect(() => defineJob({ name: 'http', run: () => {} })).toThrow(
      'defineJob: "http" is a job that every worker knows already; choose another name',
    )
  })

  it('is checked when it is enqueued by its name', async () => {
    await using chronos = start()
    await expect(chronos.enqueue('http', { url: 'nowhere' })).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
    await expect(chronos.http({ url: 'https://a.example', headers: { host: 'b' } })).rejects.toThrow(
      'http.headers: "host" is set by Chronos and can\'t be overridden; remove it',
    )
  })

  it('has one circuit for each origin', async () => {
    await using receiver = await startScript(500)
    await using t = testChronos({ jobs: [], egress: { allow: ['loopback'] }, circuit: true })
    const dead = next(t, 'job.dead')
    await t.chronos.http({ url: `${receiver.origin}/a` }, { retry: 'none' })
    await dead
    await t.advance('2m')
    expect((await t.chronos.circuits.list()).data).toMatchObject([{ key: receiver.origin, calls: { failed: 1 } }])
  })

  it('runs at T+0, +1, +3 and +7 s by default, whatever other jobs do', async () => {
    await using receiver = await startScript(500)
    await using t = testChronos({ jobs: [], egress: { allow: ['loopback'] }, retry: 'patient' })
    const begun = t.clock.now()
    const at: number[] = []
    t.on('job.started', () => at.push((t.clock.now() - begun) / 1_000))
    let failed = next(t, 'attempt.failed')
    const { id } = await t.chronos.http({ url: receiver.origin })
    for (const delayMs of [1_000, 2_000, 4_000]) {
      await failed
      failed = next(t, 'attempt.failed')
      await t.clock.advance(delayMs)
    }
    await failed
    expect(at).toEqual([0, 1, 3, 7])
    expect(await t.jobs.get(id)).toMatchObject({ state: 'dead', reason: 'exhausted', maxRetries: 3 })
  })
})
