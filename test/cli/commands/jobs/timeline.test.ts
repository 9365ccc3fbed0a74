import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stretches } from '../../../../src/cli/commands/jobs/axis.js'
import type { Span, Timeline } from '../../../../src/core/job/timeline.js'
import { type Lives, live } from '../../lives.js'
import { type Said, type Surroundings, say } from '../../memory-io.js'

const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
const env = { CHRONOS_STORE: `sqlite:${join(folder, 'chronos.db')}`, NO_COLOR: '1' }
let lives: Lives

beforeAll(async () => {
  lives = await live(join(folder, 'chronos.db'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const timeline = (id: string, around: Surroundings = {}, ...argv: string[]): Promise<Said> =>
  say(['jobs', 'timeline', id, ...argv], { isTTY: true, columns: 80, ...around, env: { ...env, ...around.env } })

const picture = ({ stdout }: Said): readonly string[] => stdout.split('\n').slice(3)

describe('jobs timeline', () => {
  it('draws runs and waits on one axis', async () => {
    expect(picture(await timeline(lives.succeeded))).toEqual([
      '                     09:00:00                        09:03:00',
      '                     ├──────────────────────────────────────┤',
      '  09:00:00 Initial   █✗                                            0ms failed',
      '  09:01:00 Retry #1   ┄┄┄┄┄┄┄┄┄┄┄┄█✗                               0ms failed',
      '  09:03:00 Retry #2                ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄█✓      0ms succeeded',
      '',
      '  Initial      Error: card network timed out (ETIMEDOUT) → retry in 1m',
      '  Retry #1     Error: card network timed out (ETIMEDOUT) → retry in 2m',
      '',
      '  ██ running   ┄┄ waiting   times in UTC',
      '',
    ])
  })

  it('draws ASCII on a terminal without Unicode', async () => {
    const lines = picture(await timeline(lives.succeeded, { env: { LANG: 'C' } }))
    expect(lines.slice(0, 5)).toEqual([
      '                     09:00:00                        09:03:00',
      '                     |--------------------------------------|',
      '  09:00:00 Initial   #x                                            0ms failed',
      '  09:01:00 Retry #1   ------------#x                               0ms failed',
      '  09:03:00 Retry #2                ------------------------#+      0ms succeeded',
    ])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: matches all of ASCII
    expect(lines.join('\n')).toMatch(/^[\u0000-\u007f]*$/)
  })

  it.each([40, 80, 120, 200])('fits %i columns', async columns => {
    for (const id of lives.all) {
      const lines = (await timeline(id, { columns })).stdout.split('\n').slice(1)
      // The axis stays readable on a very small terminal.
      expect(lines.filter(line => line.length > Math.max(columns, 64))).toEqual([])
    }
  })

  it('shows how long a due job has waited for a worker, and its next retries', async () => {
    const { stdout } = await timeline(lives.retrying)
    expect(stdout).toMatch(/^ {2}due +Retry #1 +·+◇ +next$/m)
    expect(stdout).toContain('if it fails  Retry #2 after 2h, then Retry #3 after 2h\n')
    expect(stdout).toContain('·· due, waiting for a worker')
  })

  it('shows the next run', async () => {
    expect((await timeline(lives.scheduled)).stdout).toMatch(/^ {2}01-01 00:00 Initial +┄+◇ +next$/m)
  })

  it('shows a job that ended without a run', async () => {
    expect((await timeline(lives.cancelled)).stdout).toMatch(/– cancelled/)
  })

  it('leaves out earlier runs, and shows their number', async () => {
    const { stdout } = await timeline(lives.dead, {}, '--limit', '2')
    expect(stdout).toContain('\n  1 earlier run not shown\n')
    expect(stdout).not.toMatch(/^ {2}\S+ Initial/m)
  })

  it('prints the same data as JSON', async () => {
    const { stdout } = await timeline(lives.succeeded, {}, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      job: { id: lives.succeeded, state: 'succeeded' },
      from: '2026-03-01T09:00:00.000Z',
      to: '2026-03-01T09:03:00.000Z',
      earlier: 0,
      rows: [
        { label: 'Initial', status: 'failed' },
        {
          label: 'Retry #1',
          spans: [
            { kind: 'waiting', from: '2026-03-01T09:00:00.000Z', to: '2026-03-01T09:01:00.000Z' },
            { kind: 'running', from: '2026-03-01T09:01:00.000Z', to: '2026-03-01T09:01:00.000Z' },
          ],
        },
        { label: 'Retry #2', status: 'succeeded' },
      ],
    })
  })
})

/** A timeline with one row per pair of a wait and a run, in seconds. */
function lived(...seconds: readonly (readonly [wait: number, run: number])[]): Timeline {
  let at = 0
  const next = (kind: Span['kind'], length: number): Span => {
    const from = at
    at += length * 1000
    return { kind, from, to: at }
  }
  const rows = seconds.map(([wait, run]) => ({
    label: '',
    generation: 1,
    status: 'failed',
    spans: [next('waiting', wait), next('running', run)],
  }))
  return { from: 0, to: at, now: at, earlier: 0, rows }
}

const columnsOf = (timeline: Timeline, columns: number) =>
  stretches(timeline, columns).map(row => row.map(span => span.columns))

describe('the axis', () => {
  it('is to scale', () => {
    expect(columnsOf(lived([0, 10], [10, 10], [20, 10]), 60)).toEqual([
      [0, 10],
      [10, 10],
      [20, 10],
    ])
  })

  it('gives every run at least one column, within the available width', () => {
    const drawn = columnsOf(lived([0, 0], [60, 0.001], [120, 0.001], [240, 0.001]), 40)
    expect(drawn.map(([, run]) => run)).toEqual([1, 1, 1, 1])
    expect(drawn.flat().reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(40)
    expect(drawn[3]![0]).toBeGreaterThan(drawn[2]![0]! * 1.7)
  })

  it('cuts a very long wait, and marks the cut', () => {
    const week = 7 * 86_400
    const drawn = stretches(lived([0, 5], [60, 5], [week, 5], [120, 5]), 60)
    expect(drawn.flat().map(({ isCut }) => isCut)).toEqual([false, false, false, false, true, false, false, false])
    expect(drawn[1]![0]!.columns).toBeGreaterThan(4)
    expect(drawn[2]![0]!.columns).toBeLessThan(45)
  })

  it('does not cut a long wait next to a run without a duration', () => {
    const drawn = stretches(lived([0.05, 0.005], [66, 0.005]), 40)
    expect(drawn.flat().some(({ isCut }) => isCut)).toBe(false)
  })

  it('supports more runs than columns', () => {
    const many = lived(...Array.from({ length: 50 }, () => [1, 1] as const))
    expect(columnsOf(many, 30).map(([, run]) => run)).toEqual(Array(50).fill(1))
  })
})
