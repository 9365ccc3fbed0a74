import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AttemptView, JobView } from '../../../../src/core/job/view.js'
import { seededDice } from '../../../../src/engine/time/virtual.js'
import { defineJob, fixed } from '../../../../src/index.js'
import { sqliteStore } from '../../../../src/store/sqlite/store.js'
import { type TestOptions, testChronos } from '../../../../src/testing.js'
import { type Lives, live } from '../../lives.js'
import { type Said, type Surroundings, say } from '../../memory-io.js'

const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
const env = { CHRONOS_STORE: `sqlite:${join(folder, 'chronos.db')}` }
let lives: Lives

beforeAll(async () => {
  lives = await live(join(folder, 'chronos.db'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const jobs = (...argv: string[]): Promise<Said> => say(['jobs', ...argv], { env })
const onTerminal = (columns: number, ...argv: string[]): Promise<Said> =>
  say(['jobs', ...argv], { env: { ...env, NO_COLOR: '1' }, isTTY: true, columns } satisfies Surroundings)
const json = async <T>(...argv: string[]): Promise<T> => JSON.parse((await jobs(...argv, '--json')).stdout) as T

interface Listed {
  readonly data: readonly JobView[]
  readonly page: { readonly next?: string }
  readonly count: { readonly value: number; readonly relation: string }
}

const idsOf = ({ data }: Pick<Listed, 'data'>): readonly string[] => data.map(({ id }) => id)
// biome-ignore lint/suspicious/noControlCharactersInRegex: searches for control characters
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/

describe('jobs list', () => {
  it('shows the newest first, and their number', async () => {
    const { code, stdout, stderr } = await jobs('list')
    expect(code).toBe(0)
    expect(stderr).toBe('5 jobs\n')
    const [titles, ...rows] = stdout.trimEnd().split('\n')
    expect(titles).toMatch(/^Id +Name +Queue +State +Attempts +When +Why$/)
    expect(rows.map(row => row.slice(0, 36))).toEqual(lives.all)
    expect(rows[4]).toMatch(/charge-card +payments +✓ succeeded +3\/3 +\d+d ago$/)
    expect(rows[3]).toMatch(/■ dead +3\/3 +\d+d ago +exhausted: Error: warehouse said red back/)
    expect(rows[2]).toMatch(/↻ retrying +1\/4 +due \d+d +Error: row 17 is missing$/)
    expect(rows[1]).toMatch(/◷ scheduled +0\/4 +in \d+d$/)
  })

  it.each([80, 100, 130, 200])('fits %i columns', async columns => {
    const { stdout } = await onTerminal(columns, 'list')
    expect(stdout.split('\n').filter(line => line.length > columns)).toEqual([])
    expect(stdout).toContain('charge-card')
  })

  it('prints the same data as JSON, with the count', async () => {
    const listed = await json<Listed>('list')
    expect(idsOf(listed)).toEqual(lives.all)
    expect(listed.count).toEqual({ value: 5, relation: 'exact' })
    expect(listed.data[4]).toMatchObject({
      name: 'charge-card',
      state: 'succeeded',
      attempt: 3,
      maxAttempts: 3,
      tenantId: 'acme',
      payload: { orderId: 'A-17' },
      result: { receipt: 'R-1' },
      createdAt: '2026-03-01T09:00:00.000Z',
    })
  })

  it.each<[flags: string[], names: (keyof Lives)[]]>([
    [['--state', 'dead'], ['dead']],
    [
      ['--state', 'dead,cancelled'],
      ['cancelled', 'dead'],
    ],
    [['--phase', 'retrying'], ['retrying']],
    [['--phase', 'scheduled'], ['scheduled']],
    [['--queue', 'payments'], ['succeeded']],
    [
      ['--name', 'weekly-digest'],
      ['cancelled', 'scheduled'],
    ],
    [['--name', 'weekly-digest', '--state', 'waiting'], ['scheduled']],
    [['--tag', 'vip'], ['succeeded']],
    [['--key', 'order:A-17'], ['succeeded']],
    [['--tenant', 'acme'], ['succeeded']],
    [['--reason', 'exhausted'], ['dead']],
    [
      ['--created-after', '2026-03-01T09:00:00Z'],
      ['cancelled', 'scheduled', 'retrying', 'dead', 'succeeded'],
    ],
    [['--created-before', '2026-03-01T09:00:00Z'], []],
    [['--created-after', '1h'], []],
    [['--failed-before', '2026-03-01T09:00:00Z'], []],
    [['--failed-after', '2026-03-01T09:00:00Z', '--retried', '--state', 'dead'], ['dead']],
    [['--queue', 'missing'], []],
  ])('%j selects %j', async (flags, names) => {
    expect(idsOf(await json<Listed>('list', ...flags))).toEqual(names.map(name => lives[name]))
  })

  it('continues after a page without missing a job', async () => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const listed: Listed = await json('list', '--limit', '2', ...(cursor ? ['--cursor', cursor] : []))
      seen.push(...idsOf(listed))
      cursor = listed.page.next
    } while (cursor !== undefined)
    expect(seen).toEqual(lives.all)
    expect((await jobs('list', '--limit', '2')).stderr).toMatch(/^2 of 5 jobs\nmore: --cursor \S+\n$/)
  })

  it('prints nothing if no job matches', async () => {
    expect(await jobs('list', '--queue', 'missing')).toEqual({ code: 0, stdout: '', stderr: '0 jobs\n' })
  })

  it.each([
    [
      ['--state', 'dead,blocked'],
      '--state: there is no "blocked"; waiting jobs have phases: filter by phase "blocked"',
    ],
    [['--state', 'ded'], '--state: there is no "ded"; did you mean "dead"?'],
    [['--phase', 'queed'], '--phase: there is no "queed"; did you mean "queued"?'],
    [
      ['--created-after', 'yesterday'],
      '--created-after: expected a time such as 2026-12-24T18:00Z or an age such as 2h',
    ],
    [['--limit', '0'], 'limit: expected a whole number from 1 to 200, got 0'],
    [['--limit', 'many'], 'Expected a whole number.'],
    [['--stat', 'dead'], '(Did you mean --state?)'],
  ])('rejects %j', async (flags, words) => {
    const { code, stdout, stderr } = await jobs('list', ...flags)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(words)
  })
})

describe('jobs get', () => {
  it('shows the state of a job, its payload, and its attempts', async () => {
    const { code, stdout } = await jobs('get', lives.succeeded)
    expect(code).toBe(0)
    expect(stdout).toContain(`charge-card  ${lives.succeeded}\n✓ succeeded · attempt 3 of 3 · ended `)
    expect(stdout).toMatch(/^ {2}queue {6}payments, priority 7$/m)
    expect(stdout).toMatch(/^ {2}policy {5}exponential 1m ×2, no jitter, (cap 1h, )?2 retries$/m)
    expect(stdout).toMatch(/^ {2}created {4}2026-03-01 09:00:00\.000 UTC \(\d+d( \d+h)? ago\)$/m)
    expect(stdout).toMatch(/^ {2}key {8}order:A-17\n {2}tenant {5}acme\n {2}tags {7}vip, card$/m)
    expect(stdout).toContain('Payload\n  {"orderId":"A-17"}\n')
    expect(stdout).toContain('Result\n  {"receipt":"R-1"}\n')
    expect(stdout).toMatch(/1 {2}Initial +✗ failed.*Error: card network timed out \(ETIMEDOUT\) → retry in 1m$/m)
  })

  it('shows the stack of the last error if requested', async () => {
    expect((await jobs('get', lives.retrying)).stdout).not.toMatch(/^ +at /m)
    expect((await jobs('get', lives.retrying, '--stack')).stdout).toMatch(/Error: row 17 is missing\n +at /)
  })

  it('prints the job with its attempts as JSON', async () => {
    const job = await json<JobView & { attempts: AttemptView[] }>('get', lives.dead)
    expect(job).toMatchObject({ id: lives.dead, state: 'dead', reason: 'exhausted' })
    expect(job.attempts.map(({ label }) => label)).toEqual(['Retry #2', 'Retry #1', 'Initial'])
  })

  it('exits with 3 if the job does not exist', async () => {
    const { code, stdout, stderr } = await jobs('get', '00000000-0000-7000-8000-000000000000')
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toBe('error: there is no job "00000000-0000-7000-8000-000000000000" (NOT_FOUND)\n')
  })
})

describe('jobs history', () => {
  it('shows the outcome of each run and the decision after it, newest first', async () => {
    const { stdout } = await jobs('history', lives.dead)
    const rows = stdout.trimEnd().split('\n').slice(2)
    expect(rows.map(row => row.trim().split(/ {2,}/).slice(0, 3))).toEqual([
      ['3', 'Retry #2', '✗ failed'],
      ['2', 'Retry #1', '✗ failed'],
      ['1', 'Initial', '✗ failed'],
    ])
    expect(rows[0]).toMatch(/→ died: all 2 retries used$/)
    expect(rows[1]).toMatch(/→ retry in 2m$/)
  })

  it('R55: shows the notes of failed and successful runs', async () => {
    const path = join(folder, 'notes.db')
    const job = defineJob({
      name: 'send-welcome-email',
      retry: fixed({ delay: '1m', jitter: 'none' }),
      run(_: unknown, context) {
        context.note(context.attempt === 1 ? 'server mx1' : 'Email delivered')
        if (context.attempt === 1) throw new Error('SMTP timeout')
      },
    })
    const store: TestOptions['store'] = clock => sqliteStore({ path, clock, dice: seededDice(7) })
    const t = testChronos({ jobs: [job], store })
    const { id } = await t.enqueue(job, {})
    await t.drain()
    await t.close()
    const { stdout } = await say(['jobs', 'history', id], { env: { CHRONOS_STORE: `sqlite:${path}` } })
    expect(stdout.trimEnd().split('\n').slice(2)).toEqual([
      expect.stringMatching(/Retry #1 +✓ succeeded .* Email delivered$/),
      expect.stringMatching(/Initial +✗ failed .* server mx1; Error: SMTP timeout → retry in 1m$/),
    ])
  })

  it('starts with the oldest run if asked to', async () => {
    const labels = async (...argv: string[]) =>
      (await json<{ data: AttemptView[] }>('history', lives.dead, ...argv)).data.map(({ label }) => label)
    expect(await labels('--order', 'oldest')).toEqual(['Initial', 'Retry #1', 'Retry #2'])
    expect(await labels('--order', 'newest')).toEqual(await labels())
    expect((await jobs('history', lives.dead, '--order', 'first')).stderr).toContain(
      'order: expected one of "newest", "oldest", got "first"',
    )
  })

  it('reports that a job has not run yet', async () => {
    expect(await jobs('history', lives.scheduled)).toEqual({
      code: 0,
      stdout: '',
      stderr: `job ${lives.scheduled} has not run yet\n`,
    })
  })

  it('prints a page as JSON', async () => {
    const { data, page } = await json<{ data: AttemptView[]; page: { next?: string } }>(
      'history',
      lives.dead,
      '--limit',
      '1',
    )
    expect(data).toMatchObject([{ label: 'Retry #2', status: 'failed', decision: { action: 'die' } }])
    expect(page.next).toEqual(expect.any(String))
  })
})

describe('jobs logs', () => {
  it('shows the log lines of handlers, oldest first', async () => {
    const { stdout } = await jobs('logs', lives.succeeded)
    const line = (time: string, run: number) => `${time}  run ${run}  asking the bank  {"orderId":"A-17"}\n`
    expect(stdout).toBe(line('09:00:00.000', 1) + line('09:01:00.000', 2) + line('09:03:00.000', 3))
  })

  it('reports that there are no log lines', async () => {
    expect((await jobs('logs', lives.scheduled)).stderr).toBe(`job ${lives.scheduled} has no log lines\n`)
  })
})

describe('untrusted text of a job', () => {
  it.each([
    ['list'],
    ['list', '--json'],
    ['get', 'dead'],
    ['get', 'dead', '--stack'],
    ['get', 'dead', '--json'],
    ['history', 'dead'],
    ['history', 'dead', '--json'],
    ['logs', 'dead'],
    ['logs', 'dead', '--json'],
    ['timeline', 'dead'],
    ['timeline', 'dead', '--json'],
  ])('cannot control a terminal: jobs %s %s %s', async (...argv) => {
    const { code, stdout } = await jobs(...argv.map(word => (word === 'dead' ? lives.dead : word)))
    expect(code).toBe(0)
    expect(stdout).toContain('sync-inventory'.slice(0, argv[0] === 'logs' || argv[0] === 'history' ? 0 : undefined))
    expect(stdout).not.toMatch(CONTROL)
  })

  it('is complete in JSON', async () => {
    const { payload } = await json<JobView>('get', lives.dead)
    expect(payload).toEqual({ text: '\u001b[31mred\u001b[0m \u202Eback\u0007 \u009b2J' })
  })
})

describe('jobs explain', () => {
  it('explains why a job died, with the facts', async () => {
    const { code, stdout } = await jobs('explain', lives.dead)
    expect(code).toBe(0)
    expect(stdout).toContain(`sync-inventory  ${lives.dead}\nDead (exhausted): `)
    expect(stdout).toMatch(/^ {2}last {5}\S/m)
    expect(stdout).not.toMatch(CONTROL)
  })

  it('prints the explanation as JSON', async () => {
    const explanation = await json<{ summary: string; waiting: { words: string } }>('explain', lives.scheduled)
    expect(explanation.summary).toMatch(/^Waiting: /)
    expect(explanation.summary).toContain(explanation.waiting.words)
  })

  it('exits with 3 if the job does not exist', async () => {
    expect((await jobs('explain', 'missing')).code).toBe(3)
  })
})

it('prints ASCII on a terminal without Unicode', async () => {
  for (const argv of [['list'], ['get', lives.succeeded], ['explain', lives.succeeded], ['history', lives.succeeded]]) {
    const { stdout } = await say(['jobs', ...argv], { env: { ...env, LANG: 'C', NO_COLOR: '1' }, isTTY: true })
    expect(stdout).toMatch(/^[\n -~]+$/)
  }
})
