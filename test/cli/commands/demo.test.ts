import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { differences } from '../../../src/cli/commands/demo/check.js'
import { DemoDice } from '../../../src/cli/commands/demo/dice.js'
import { Live } from '../../../src/cli/commands/demo/live.js'
import type { DemoEvent } from '../../../src/cli/commands/demo/recorder.js'
import { report } from '../../../src/cli/commands/demo/report.js'
import type { DemoJob, DemoRun } from '../../../src/cli/commands/demo/run.js'
import type { Style } from '../../../src/cli/output/print.js'
import { widthOf } from '../../../src/cli/output/width.js'
import { type Ended, isAlive, run, start } from '../process.js'

// The demo runs with real processes, files and time. The runs are concurrent, to save time.

const folder = mkdtempSync(join(tmpdir(), 'chronos-demo-test-'))
const TMPDIR = { TMPDIR: folder }
const KEPT = join(folder, 'kept.db')
let json: Ended
let again: Ended
let text: Ended
let demo: DemoRun

beforeAll(async () => {
  ;[json, again, text] = await Promise.all([
    run(['demo', '--json', '--seed', '7'], TMPDIR),
    run(['demo', '--json', '--seed', '7'], TMPDIR),
    run(['demo', '--seed', '7', '--store', `sqlite:${KEPT}`], TMPDIR),
  ])
  demo = JSON.parse(json.stdout) as DemoRun
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('demo --json', () => {
  it('exits with 0 and prints only JSON', () => {
    expect([json.code, json.stderr]).toEqual([0, ''])
  })

  it.each([
    ['send-welcome-email', 'succeeded', undefined, ['Initial succeeded']],
    ['charge-card', 'succeeded', undefined, ['Initial failed', 'Retry #1 failed', 'Retry #2 succeeded']],
    [
      'sync-inventory',
      'dead',
      'exhausted',
      ['Initial failed', 'Retry #1 failed', 'Retry #2 failed', 'Retry #3 failed'],
    ],
    ['import-csv', 'dead', 'permanent', ['Initial failed']],
    ['render-video', 'succeeded', undefined, ['Initial timed-out', 'Retry #1 succeeded']],
    ['send-sms', 'dead', 'failed', ['Initial failed']],
    ['wait-for-stock', 'succeeded', undefined, ['Run 1 snoozed', 'Run 2 snoozed', 'Initial succeeded']],
    ['resize-image', 'dead', 'poison', ['Initial lost', 'Retry #1 lost', 'Retry #2 lost']],
  ])('%s ends %s (%s)', (name, state, reason, runs) => {
    const job = jobOf(demo, name)
    expect([job.state, job.reason]).toEqual([state, reason])
    expect(job.history.map(({ label, status }) => `${label} ${status}`).reverse()).toEqual(runs)
  })

  it('really kills worker processes', () => {
    const died = demo.events.filter(event => event.event === 'worker.died')
    expect(died.map(({ how }) => how)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL'])
    expect(new Set(died.map(({ pid }) => pid)).size).toBe(3)
    expect(died.filter(({ pid }) => isAlive(pid))).toEqual([])
  })

  it('counts successful and failed retries', () => {
    const { totalRetries, successfulRetries, retrySuccessRate, snoozed } = demo.stats
    expect({ totalRetries, successfulRetries, snoozed }).toEqual({ totalRetries: 6, successfulRetries: 2, snoozed: 2 })
    expect(retrySuccessRate).toBeCloseTo(33.3, 1)
  })

  it('lists events in order', () => {
    const of = (name: string): string[] =>
      demo.events.filter(event => 'job' in event && event.job.name === name).map(({ event }) => event)
    expect(of('charge-card')).toEqual([
      ...['job.started', 'attempt.failed', 'job.retrying'],
      ...['job.started', 'attempt.failed', 'job.retrying'],
      ...['job.started', 'job.succeeded'],
    ])
    expect(of('send-sms')).toEqual(['job.started', 'attempt.failed', 'job.dead'])
    const times = demo.events.map(({ atMs }) => atMs)
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it('waits for less than 6 seconds in total, so that it ends within 12 on a usual machine', () => {
    const LEASE_MS = 1_000
    const waits = demo.jobs.map(({ history }) =>
      history.reduce((sum, { status, delayMs = 0 }) => sum + delayMs + (status === 'lost' ? LEASE_MS : 0), 0),
    )
    expect(Math.max(...waits)).toBeLessThan(6_000)
    expect(Math.min(...waits.filter(wait => wait > 0))).toBeGreaterThan(500)
  })

  it('draws the same delays for the same seed', () => {
    const delays = delaysOf(demo)
    expect(delays).toEqual(delaysOf(JSON.parse(again.stdout) as DemoRun))
    expect(Object.values(delays).flat()).toHaveLength(8)
  })

  it('leaves no temporary file behind', () => {
    expect(readdirSync(folder).filter(name => name.startsWith('chronos-demo-'))).toEqual([])
  })
})

describe('demo in a pipe', () => {
  it('is plain text without escape codes or boxes', () => {
    expect([text.code, text.stderr]).toEqual([0, ''])
    expect(text.stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}│─]/u)
  })

  it('shows events live', () => {
    expect(text.stdout).toMatch(/^\+\d+\.\d\ds ✗ failed {4}charge-card {8}attempt 1 of 4: connect ETIMEDOUT$/m)
    expect(text.stdout).toMatch(/^\+\d+\.\d\ds ↻ retrying {2}charge-card {8}retry 1 of 3 in \d+ms$/m)
    expect(text.stdout).toMatch(/^\+\d+\.\d\ds ■ dead {6}resize-image {7}poison: it kills its workers$/m)
  })

  it('shows final states', () => {
    expect(text.stdout).toMatch(/^sync-inventory +■ dead +exhausted +4 of 4 +4 +\d/m)
    expect(text.stdout).toMatch(/^wait-for-stock +✓ succeeded +1 of 4 +3 +\d/m)
  })

  it('shows an execution log per job', () => {
    expect(text.stdout).toMatch(
      new RegExp(
        [
          'Job: charge-card \\([-0-9a-f]{36}\\)',
          'exponential 500ms, jitter ±20 %, at most 3 retries',
          'Attempt +Status +Duration +Notes',
          'Initial +FAILED +\\d+ms +connect ETIMEDOUT → retry in \\d+ms',
          'Retry #1 +FAILED +\\d+ms +gateway answered 503 → retry in [\\d.]+m?s',
          'Retry #2 +SUCCESS +\\d+ms +Card charged',
        ].join('\\n'),
      ),
    )
  })

  it('shows the retry statistics, and how to repeat the run', () => {
    expect(text.stdout).toMatch(/^retrySuccessRate +33\.3 %/m)
    expect(text.stdout).toContain('--seed 7')
  })

  it('keeps a named file, and never uses an existing one', async () => {
    expect(existsSync(KEPT)).toBe(true)
    const { code, stderr, stdout } = await run(['demo', '--store', `sqlite:${KEPT}`])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^error: --store: .*kept\.db already exists.*\(INVALID_OPTION\)\n$/)
  })
})

// Each test has its own processes and folder.
describe.concurrent('demo that is stopped', () => {
  const PROCESS = /in process (\d+)/

  it('stops its worker process and deletes its file on Ctrl-C', async () => {
    const own = mkdtempSync(join(folder, 'stopped-'))
    const { child, ended, said } = start(['demo'], { TMPDIR: own })
    const [, pid] = await said(PROCESS)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect([code, stderr]).toEqual([130, 'interrupted\n'])
    expect(readdirSync(own)).toEqual([])
    expect(isAlive(Number(pid))).toBe(false)
  })

  it('exits silently and deletes its file when its pipe is closed', async () => {
    const own = mkdtempSync(join(folder, 'unread-'))
    const { child, ended, said } = start(['demo'], { TMPDIR: own })
    await said(PROCESS)
    child.stdout?.destroy()
    const { code, stderr } = await ended
    expect([code, stderr]).toEqual([141, ''])
    expect(readdirSync(own)).toEqual([])
  })

  it('leaves no worker process behind after kill -9', async () => {
    const own = mkdtempSync(join(folder, 'killed-'))
    const { child, ended, said } = start(['demo'], { TMPDIR: own })
    await said(/process \d+ died/)
    child.kill('SIGKILL')
    // The next worker process has started, and keeps stderr open until it ends.
    expect((await ended).code).toBeNull()
  })
})

describe('demo on a store that it cannot use', () => {
  it('reports it and exits with 6', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, 'no folder')
    const { code, stderr, stdout } = await run(['demo', '--json', '--store', `sqlite:${join(file, 'demo.db')}`])
    expect([code, stdout]).toEqual([6, ''])
    expect(stderr).toMatch(/^error: .*\(STORE_\w+\)\n$/)
  })
})

describe('demo on a terminal', () => {
  const style: Style = { colour: true, boxes: true, unicode: true, columns: 80 }

  it('fits 80 columns', () => {
    const live = new Live(style)
    const shown = demo.events.map(event => live.line(event) ?? '').join('') + report(demo, style)
    const wide = stripVTControlCharacters(shown)
      .split('\n')
      .filter(line => widthOf(line) > 80)
    expect(shown).toContain('│')
    expect(wide).toEqual([])
  })

  it('keeps live lines intact whatever an error contains', () => {
    const job = { ...jobOf(demo, 'charge-card'), run: 1, tags: [] }
    const error = { name: 'Error', message: `\u001b[2Jgone\r\n${'long '.repeat(40)}` }
    const event: DemoEvent = { atMs: 12_345, event: 'attempt.failed', job, error, timedOut: false }
    const line = new Live({ ...style, colour: false }).line(event) ?? ''
    expect(line).toMatch(/^\+12\.35s ✗ failed {4}charge-card {8}attempt 3 of 4: gone long .*…\n$/)
    expect(widthOf(line.trimEnd())).toBeLessThanOrEqual(80)
  })

  it('has ASCII symbols', () => {
    const shown = demo.events.map(event => new Live({ ...style, unicode: false }).line(event) ?? '').join('')
    expect(stripVTControlCharacters(shown)).toMatch(/^[ -~\n]+$/)
  })
})

describe('the check at the end', () => {
  it('finds nothing if every outcome is as expected', () => {
    expect(differences(demo.jobs)).toEqual([])
  })

  it.each([
    ['a missing job', (jobs: DemoJob[]) => jobs.slice(1)],
    ['another state', (jobs: DemoJob[]) => jobs.with(0, { ...jobs[0]!, state: 'running' })],
    ['another reason', (jobs: DemoJob[]) => jobs.with(0, { ...jobs[0]!, reason: 'poison' })],
    ['an additional attempt', (jobs: DemoJob[]) => jobs.with(0, { ...jobs[0]!, attempt: 2 })],
    ['a missing run', (jobs: DemoJob[]) => jobs.with(0, { ...jobs[0]!, history: [] })],
  ])('finds %s', (_, change) => {
    expect(differences(change([...demo.jobs]))).toEqual([expect.stringContaining('send-welcome-email: expected')])
  })
})

describe('the dice', () => {
  /** Draws for jobs in the given order, each in its own run. */
  const drawn = async (seed: number, order: readonly string[]): Promise<Record<string, number[]>> => {
    const dice = new DemoDice(seed)
    const draws: Record<string, number[]> = {}
    const runOf = async (job: string): Promise<void> => {
      dice.drawFor(job)
      await Promise.resolve()
      draws[job] = [...(draws[job] ?? []), dice.random()]
    }
    await Promise.all(order.map(runOf))
    dice.end()
    return draws
  }

  it('draw the same for a job in whichever order jobs fail', async () => {
    const draws = await drawn(7, ['a', 'b', 'a', 'c', 'a'])
    expect(await drawn(7, ['c', 'a', 'a', 'b', 'a'])).toEqual(draws)
    expect(new Set(Object.values(draws).flat()).size).toBe(5)
  })

  it('draw different numbers for another seed', async () => {
    expect(await drawn(8, ['a'])).not.toEqual(await drawn(7, ['a']))
  })
})

function jobOf({ jobs }: DemoRun, name: string): DemoJob {
  const job = jobs.find(one => one.name === name)
  if (!job) throw new Error(`the demo has no ${name}`)
  return job
}

function delaysOf({ jobs }: DemoRun): Record<string, (number | undefined)[]> {
  return Object.fromEntries(
    jobs.map(({ name, history }) => [
      name,
      history.filter(({ decision }) => decision?.action === 'retry').map(({ delayMs }) => delayMs),
    ]),
  )
}
