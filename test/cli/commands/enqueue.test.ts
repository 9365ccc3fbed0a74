import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Interruption } from '../../../src/cli/io.js'
import type { JobView } from '../../../src/core/job/view.js'
import type { Chronos } from '../../../src/engine/client/chronos.js'
import { turn } from '../../../src/engine/time/system.js'
import { createChronos, defineJob, PermanentError } from '../../../src/index.js'
import { type Said, type Surroundings, say } from '../memory-io.js'
import { run } from '../process.js'

let folder: string
let store: string
let chronos: Chronos

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  store = `sqlite:${join(folder, 'chronos.db')}`
  chronos = createChronos({ store, log: false })
})

afterEach(async () => {
  await chronos.close()
  rmSync(folder, { recursive: true, force: true })
})

const enqueue = (argv: string[], around: Surroundings = {}): Promise<Said> =>
  say(['enqueue', ...argv, '--store', store], around)
const added = async (argv: string[], around?: Surroundings): Promise<JobView> =>
  (await chronos.jobs.get((await enqueue(argv, around)).stdout.trim()))!

describe('enqueue', () => {
  it('prints only the id, and reports that it creates the store', async () => {
    const { code, stdout, stderr } = await enqueue(['hello'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/)
    expect(stderr).toBe(`creating a new store at ${join(folder, 'chronos.db')}\n`)
    expect((await enqueue(['hello'])).stderr).toBe('')
    expect(await chronos.jobs.get(stdout.trim())).toMatchObject({ name: 'hello', payload: null, state: 'waiting' })
  })

  it('warns that an at-most-once job ignores --max-retries', async () => {
    await enqueue(['hello'])
    const { code, stderr } = await enqueue(['charge', '--at-most-once', '--max-retries', '5'])
    expect(code).toBe(0)
    expect(stderr).toBe('warning: an at-most-once job runs once and is never retried, so maxRetries 5 has no effect\n')
    expect((await enqueue(['charge', '--at-most-once', '--max-retries', '0'])).stderr).toBe('')
    const { stdout } = await enqueue(['charge', '--at-most-once', '--max-retries', '5', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ status: 'created', warnings: [expect.stringContaining('maxRetries 5')] })
  })

  it('accepts a name with spaces and every name of a preset', async () => {
    const job = await added(['Critical Task', '--retry', 'aggressive'])
    expect(job).toMatchObject({ name: 'Critical Task', retry: { maxRetries: 2, cap: '5s' } })
  })

  it('accepts all options of a job', async () => {
    const job = await added([
      'charge',
      ...['--payload', '{"cents": 4200}', '--queue', 'payments', '--priority', '9', '--delay', '1h'],
      ...['--key', 'k', '--unique', 'u', '--tenant', 'acme', '--tag', 'a', '--tag', 'b', '--at-most-once'],
      ...['--timeout', '30s', '--retry', 'financial', '--max-retries', '7', '--max-elapsed', '2d', '--deadline', '3h'],
    ])
    expect(job).toMatchObject({
      payload: { cents: 4200 },
      queue: 'payments',
      priority: 9,
      phase: 'scheduled',
      key: 'k',
      tenantId: 'acme',
      tags: ['a', 'b'],
      delivery: 'at-most-once',
      retry: { maxRetries: 7, jitter: 'full', maxElapsed: 172_800_000 },
    })
  })

  it.each<[name: string, argv: () => string[], around: Surroundings, payload: unknown]>([
    ['as it stands', () => ['--payload', '[1, "zwei"]'], {}, [1, 'zwei']],
    ['from stdin', () => ['--payload', '-'], { stdin: ['{"a"', Buffer.from(': "ä"}')] }, { a: 'ä' }],
    ['from a file', () => ['--payload', `@${join(folder, 'order.json')}`], {}, { order: 1 }],
  ])('reads the payload %s', async (_, argv, around, payload) => {
    writeFileSync(join(folder, 'order.json'), '{"order": 1}')
    expect((await added(['hello', ...argv()], around)).payload).toEqual(payload)
  })

  it('returns the same job for the same key, and reports it', async () => {
    const first = await enqueue(['hello', '--key', 'k'])
    const second = await enqueue(['hello', '--key', 'k'])
    expect(second).toEqual({
      code: 0,
      stdout: first.stdout,
      stderr: `job ${first.stdout.trim()} already exists with this key\n`,
    })
    expect(JSON.parse((await enqueue(['hello', '--key', 'k', '--json'])).stdout)).toEqual({
      id: first.stdout.trim(),
      status: 'existing',
    })
  })

  it('replaces the payload of the waiting job with --unique-mode, and reports it', async () => {
    const first = await enqueue([
      'hello',
      '--payload',
      '1',
      '--unique',
      'u',
      '--unique-mode',
      'replace',
      '--delay',
      '1h',
    ])
    const argv = ['hello', '--payload', '2', '--unique', 'u', '--unique-mode', 'replace']
    expect(await enqueue(argv)).toEqual({
      code: 0,
      stdout: first.stdout,
      stderr: `job ${first.stdout.trim()} was waiting and has the new payload\n`,
    })
    expect(JSON.parse((await enqueue([...argv, '--json'])).stdout)).toEqual({
      id: first.stdout.trim(),
      status: 'replaced',
    })
  })

  it('debounces and throttles with --unique-for', async () => {
    const debounced = ['--unique', 'd', '--unique-mode', 'debounce', '--unique-for', '1h', '--unique-max-wait', '2h']
    expect(await added(['hello', ...debounced])).toMatchObject({ phase: 'scheduled' })
    const throttled = ['hello', '--unique', 't', '--unique-mode', 'throttle', '--unique-for', '1h']
    const { stdout } = await enqueue(throttled)
    expect(await enqueue(throttled)).toEqual({
      code: 0,
      stdout,
      stderr: `job ${stdout.trim()} already exists with this unique value\n`,
    })
  })

  it('exits with 5 for the same key with another payload', async () => {
    await enqueue(['hello', '--key', 'k'])
    const { code, stderr } = await enqueue(['hello', '--key', 'k', '--payload', '1'])
    expect(code).toBe(5)
    expect(stderr).toContain('(KEY_CONFLICT)')
  })

  it.each([
    [['hello', '--payload', '{a: 1}'], '--payload: expected JSON such as'],
    [
      ['hello', '--payload', '{"id": 9007199254740993}'],
      '--payload.id: 9007199254740993 would be rounded to 9007199254740992',
    ],
    [['hello', '--payload', '@nowhere.json'], 'cannot read nowhere.json'],
    [['hello', '--payload', '-'], 'error: stdin: expected JSON'],
    [['hello', '--retry', 'finacial'], '--retry: expected a preset (standard, '],
    [['hello', '--retry', '{"maxRetrys": 1}'], 'did you mean "maxRetries"?'],
    [['hello', '--priority', '11'], 'priority: expected a whole number from 0 to 9, got 11'],
    [['hello', '--delay', '1h', '--run-at', '2099-01-01'], 'give delay or runAt, not both'],
    [['hello', '--unique-mode', 'replace'], 'mode "replace" needs a unique value; give unique'],
    [['hello', '--unique', 'u', '--unique-mode', 'debounce'], 'mode "debounce" needs a duration; give for'],
    [['hello', '--unique', 'u', '--unique-mode', 'debounced'], 'did you mean "debounce"?'],
    [['hello', '--deadline', 'never'], '--deadline: expected a Date, a time'],
    [['two\twords'], 'name: expected 1 to 128 letters'],
    [[], "missing required argument 'name'"],
  ])('rejects %j', async (argv, words) => {
    const { code, stdout, stderr } = await enqueue(argv)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(words)
  })

  it('works in many processes at once that create the same file', async () => {
    const ended = await Promise.all(Array.from({ length: 8 }, () => run(['enqueue', 'hello', '--store', store])))
    expect(ended.map(({ code }) => code)).toEqual(Array(8).fill(0))
    expect(new Set(ended.map(({ stdout }) => stdout)).size).toBe(8)
    expect((await chronos.jobs.count()).value).toBe(8)
  })

  it('does not create a store for a rejected job', async () => {
    await enqueue(['hello', '--payload', '{a: 1}'])
    expect(existsSync(join(folder, 'chronos.db'))).toBe(false)
  })
})

describe('enqueue --wait', () => {
  const work = (run: () => unknown): void => {
    chronos.work([defineJob({ name: 'hello', run })], { signals: false })
  }

  it('exits with 0 if the job succeeded', async () => {
    work(() => ({ done: true }))
    const { code, stdout } = await enqueue(['hello', '--wait', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ state: 'succeeded', result: { done: true } })
  })

  it('exits with 7 and a reason if the job died', async () => {
    work(() => {
      throw new PermanentError('card declined')
    })
    const { code, stdout, stderr } = await enqueue(['hello', '--wait'])
    expect(code).toBe(7)
    expect(stderr).toContain(`job ${stdout.trim()} died (permanent): PermanentError: card declined\n`)
  })

  it('stops waiting after the given time, and the job continues', async () => {
    const { code, stderr } = await enqueue(['hello', '--wait', '1ms'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/error: job \S+ has not ended within 1ms; it goes on without you/)
    expect((await chronos.jobs.count({ state: 'waiting' })).value).toBe(1)
  })

  it('exits when it is interrupted', async () => {
    const controller = new AbortController()
    const said = enqueue(['hello', '--wait'], { interrupted: controller.signal })
    while ((await chronos.jobs.count()).value === 0) await turn()
    controller.abort(new Interruption('interrupted', 130))
    expect((await said).code).toBe(130)
  })
})
