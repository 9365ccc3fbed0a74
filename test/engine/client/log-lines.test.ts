import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { backgroundStream, defaultLog, linesWritten } from '../../../src/engine/client/log.js'
import { testChronos } from '../../../src/testing.js'
import { temporaryFolder } from '../../support/process.js'
import { codeOf, readTree } from '../../support/tree.js'

type Line = Readonly<Record<string, unknown>>

function logged(environment: NodeJS.ProcessEnv = {}) {
  const chunks: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  const log = defaultLog({ CHRONOS_LOG_FORMAT: 'json', ...environment }, stream)
  const text = (): string => chunks.join('')
  const lines = (): readonly Line[] =>
    text()
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Line)
  return { log, text, lines }
}

const HOSTILE = 'no\n{"level":50,"event":"job.dead","msg":"forged"}\r\u001b[2K\u001b[1A\u009b31m\u2028'

it('has written every line, in order, before a process exits after a signal', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'log')
  const log = defaultLog({ CHRONOS_LOG_FORMAT: 'json' }, backgroundStream(path))
  const numbers = Array.from({ length: 5_000 }, (_, number) => number)
  for (const number of numbers) log.info({ number }, 'a line')
  await linesWritten()
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  expect(lines.map(line => (JSON.parse(line) as Line)['number'])).toEqual(numbers)
  await linesWritten()
})

describe('what is not logged', () => {
  it.each([
    ['authorization', { headers: { Authorization: 'Bearer s3cr3t' } }],
    ['cookies', { response: { headers: { 'set-cookie': ['sid=s3cr3t'], cookie: 's3cr3t' } } }],
    ['passwords', { config: { auth: { user: 'ada', password: 's3cr3t', dbPassword: 's3cr3t' } } }],
    ['secrets', { options: { client_secret: 's3cr3t', webhookSecret: 's3cr3t' } }],
    ['tokens', { token: 's3cr3t', refresh_token: 's3cr3t', accessToken: 's3cr3t', 'x-api-key': 's3cr3t' }],
    ['payloads', { payload: { card: 's3cr3t' }, job: { payload: 's3cr3t' } }],
    ['logins in addresses', { url: 'postgres://ada:s3cr3t@db/shop', note: 'GET https://s3cr3t@api.example/x failed' }],
  ])('are %s, in a line or deep in an error', (_, secret) => {
    for (const format of ['json', 'pretty']) {
      const { log, text } = logged({ CHRONOS_LOG_FORMAT: format })
      log.warn({ event: 'a', ...secret, list: [secret], err: Object.assign(new Error('no'), secret) }, 'constant')
      expect(text()).toContain('[redacted]')
      expect(text()).not.toContain('s3cr3t')
    }
  })

  it('are no other fields, and no cycle ends the program', () => {
    const { log, lines } = logged()
    const error: Error & { self?: unknown } = Object.assign(new RangeError('no'), { code: 'E1', at: new Date(0) })
    error.self = { error }
    log.error({ event: 'a', jobId: '1', delayMs: 5, tokens_used: 3, err: error, error: { name: 'E' } }, 'constant')
    expect(lines()).toMatchObject([
      {
        event: 'a',
        jobId: '1',
        delayMs: 5,
        tokens_used: 3,
        err: { type: 'RangeError', message: 'no', code: 'E1', at: '1970-01-01T00:00:00.000Z' },
        error: { name: 'E' },
        msg: 'constant',
      },
    ])
  })

  it('are logins in the error of a retry', async () => {
    const { log, text, lines } = logged()
    const job = defineJob({
      name: 'mail',
      retry: fixed({ delay: '1s', maxRetries: 1, jitter: 'none' }),
      async run(_: unknown) {
        throw new Error('no route to smtp://ada:s3cr3t@mail.example')
      },
    })
    const t = testChronos({ jobs: [job], log })
    await t.enqueue(job, {})
    await t.drain()
    await t.close()
    const message = 'no route to smtp://[redacted]@mail.example'
    expect(lines()).toMatchObject([
      { event: 'job.retrying', error: { message } },
      { event: 'job.dead', error: { message } },
    ])
    expect(text()).not.toContain('s3cr3t')
  })

  it('are no fields that are hard to write as JSON', () => {
    const { log, lines } = logged()
    log.warn({ event: 'a', size: 5n, none: undefined, far: Number.POSITIVE_INFINITY }, 'constant')
    log.warn(new Error('no'), 'an error')
    log.warn('only text')
    expect(lines()).toMatchObject([
      { level: 40, event: 'a', msg: 'constant' },
      { level: 40, err: { message: 'no' }, msg: 'an error' },
      { level: 40, msg: 'only text' },
    ])
  })

  it('are lines below the level', () => {
    const { log, lines } = logged({ CHRONOS_LOG_LEVEL: 'error' })
    log.warn({ event: 'a' }, 'constant')
    log.error({ event: 'b' }, 'constant')
    expect(lines()).toMatchObject([{ level: 50, event: 'b' }])
    expect([log.isLevelEnabled('warn'), log.isLevelEnabled('error')]).toEqual([false, true])
  })

  it('are the fields after the hundredth', () => {
    const { log, lines } = logged()
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`field${i}`, i]))
    log.warn({ event: 'a', many }, 'constant')
    const kept = Object.keys(lines()[0]?.['many'] as object)
    expect([kept.length, kept.at(-1)]).toEqual([100, 'field99'])
  })
})

describe('hostile content of a log line', () => {
  it('does not become the prototype of the logged object', () => {
    const { log, lines } = logged()
    log.warn({ event: 'a', body: JSON.parse('{"__proto__":{"password":"s3cr3t","note":"kept"}}') }, 'constant')
    const body = lines()[0]?.['body'] as object
    expect(Object.entries(body)).toEqual([['__proto__', { password: '[redacted]', note: 'kept' }]])
  })

  it('is data in JSON', () => {
    const { log, text, lines } = logged()
    log.warn({ event: 'a', jobId: HOSTILE, error: { message: HOSTILE }, err: new Error(HOSTILE) }, 'constant')
    expect(text().match(/\n/g)).toHaveLength(1)
    expect(lines()).toMatchObject([{ event: 'a', jobId: HOSTILE, error: { message: HOSTILE }, msg: 'constant' }])
  })

  it('neither changes the colours of a terminal nor begins a new line', () => {
    const { log, text } = logged({ CHRONOS_LOG_FORMAT: 'pretty' })
    log.warn({ event: 'a', jobId: HOSTILE, error: { message: HOSTILE }, err: new Error(HOSTILE) }, 'constant')
    expect(text()).not.toMatch(/[^\P{Cc}\n\t]|\u2028/u)
    const begun = text()
      .split('\n')
      .filter(line => /^\S/.test(line))
    expect(begun).toEqual([expect.stringMatching(/WARN.*constant/)])
  })

  it('is only in the line of the retry if a handler throws it', async () => {
    const { log, lines } = logged()
    const job = defineJob({
      name: 'mail',
      retry: fixed({ delay: '1s', maxRetries: 1, jitter: 'none' }),
      async run(_: unknown) {
        throw new Error(HOSTILE)
      },
    })
    const t = testChronos({ jobs: [job], log })
    await t.enqueue(job, { password: 'hunter2' }, { tenantId: 'a\nb' })
    await t.drain()
    await t.close()
    expect(lines().map(line => [line['event'], line['tenantId']])).toEqual([
      ['job.retrying', 'a\nb'],
      ['job.dead', 'a\nb'],
    ])
    expect(JSON.stringify(lines())).not.toContain('hunter2')
  })
})

describe('the readable format', () => {
  it('says which retry it is, in how long and when', async () => {
    const { log, text } = logged({ CHRONOS_LOG_FORMAT: 'pretty' })
    const job = defineJob({
      name: 'mail',
      retry: fixed({ delay: '1s', maxRetries: 3, jitter: 'none' }),
      async run(_: unknown) {
        throw new Error('SMTP timeout')
      },
    })
    const t = testChronos({ jobs: [job], log })
    await t.enqueue(job, {})
    await t.drain()
    await t.close()
    expect(text().match(/(?:WARN|ERROR) .*/g)).toEqual([
      'WARN (mail): job failed, scheduling retry 1/3 in 1s at 2026-01-01T00:00:01.000Z',
      'WARN (mail): job failed, scheduling retry 2/3 in 1s at 2026-01-01T00:00:02.000Z',
      'WARN (mail): job failed, scheduling retry 3/3 in 1s at 2026-01-01T00:00:03.000Z',
      'ERROR (mail): job failed, moved to dead letters',
    ])
  })

  it('indents the fields of an error, and keeps the lines of its stack', () => {
    const { log, text } = logged({ CHRONOS_LOG_FORMAT: 'pretty' })
    const error = Object.assign(new RangeError('no'), { stack: 'RangeError: no\n    at a.js:1', code: 'E1' })
    log.error({ name: 'mail', count: 2, list: [], err: error }, 'failed')
    expect(text().slice(text().indexOf(']') + 1)).toBe(
      [
        ' ERROR (mail): failed',
        '    count: 2',
        '    list: []',
        '    err:',
        '        type: "RangeError"',
        '        message: "no"',
        '        stack:',
        '            RangeError: no',
        '                at a.js:1',
        '        code: "E1"',
        '',
      ].join('\n'),
    )
  })

  it('says when the next occurrence comes', () => {
    const { log, text } = logged({ CHRONOS_LOG_FORMAT: 'pretty' })
    log.error({ event: 'job.dead', nextOccurrenceAt: '2026-01-02T00:00:00.000Z' }, 'job failed, moved to dead letters')
    expect(text()).toContain('job failed, moved to dead letters, next occurrence at 2026-01-02T00:00:00.000Z')
  })
})

describe('the environment', () => {
  it('sets the level', () => {
    const { log, lines } = logged({ CHRONOS_LOG_LEVEL: 'warn' })
    log.info({ event: 'a' }, 'not heard')
    log.warn({ event: 'b' }, 'heard')
    expect(lines()).toMatchObject([{ level: 40, event: 'b', msg: 'heard' }])
    expect(log.isLevelEnabled('info')).toBe(false)
  })

  it('sets the format', () => {
    const { log, text } = logged({ CHRONOS_LOG_FORMAT: 'pretty' })
    log.info({ event: 'a' }, 'readable')
    expect(text()).toMatch(/^\[[\d:.]+\] INFO: readable\n {4}event: "a"\n$/)
  })

  it.each([
    [
      { CHRONOS_LOG_LEVEL: 'loud' },
      'CHRONOS_LOG_LEVEL: expected trace, debug, info, warn, error, fatal, silent, got "loud"',
    ],
    [{ CHRONOS_LOG_FORMAT: 'xml' }, 'CHRONOS_LOG_FORMAT: expected json, pretty, got "xml"'],
  ])('that says %j is refused', (environment, words) => {
    expect(() => logged(environment)).toThrow(words)
  })
})

describe('every line in the code', () => {
  const calls = Object.entries(readTree('src'))
    .filter(([path]) => /^src\/(engine|server)\//.test(path))
    .flatMap(([path, text]) => {
      const code = codeOf(text)
      return [...code.matchAll(/\blog\.(?:debug|info|warn|error)\(/g)].map(match => ({
        path,
        call: argumentsAt(text, code, match.index + match[0].length),
      }))
    })

  it('is looked at', () => {
    expect(calls.length).toBeGreaterThan(40)
  })

  it.each(calls)('$path: $call', ({ call }) => {
    // Facts first, with their event, or made by a function that gives them one; then words that never change.
    expect(call).toMatch(/(?:, |,\n\s*)(?:'[^'$]+'|[A-Z_]+),?\s*$/)
    expect(call).toMatch(/^\s*(?:\{[\s\S]*\bevent: |\{ \.\.\.facts\b|\{ \.\.\.factsOf\(|factsOf\(|facts,|fields,)/)
  })
})

/** The text between the parentheses of a call. */
function argumentsAt(text: string, code: string, from: number): string {
  let depth = 1
  for (let at = from; at < code.length; at++) {
    if ('({['.includes(code[at]!)) depth++
    if (')}]'.includes(code[at]!) && --depth === 0) return text.slice(from, at)
  }
  throw new Error('a call without an end')
}
