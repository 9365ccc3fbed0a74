import { describe, expect, it } from 'vitest'
import { timelineOf } from '../../src/core/job/timeline.js'
import type { AttemptView, JobView } from '../../src/core/job/view.js'
import { factsOf, historyText, spoken } from '../../src/dashboard/timeline/facts.js'
import { historyOf, outcomesOf, type RunPart, stretchesOf } from '../../src/dashboard/timeline/history.js'

const START = Date.parse('2026-03-01T10:00:00.000Z')
const at = (ms: number): string => new Date(START + ms).toISOString()
const moment = (ms: number): string => `${ms - START}`

function job(more: Partial<JobView> = {}): JobView {
  return {
    kind: 'job',
    id: 'a',
    name: 'mail',
    queue: 'default',
    state: 'succeeded',
    phase: 'succeeded',
    priority: 5,
    attempt: 2,
    maxAttempts: 4,
    maxRetries: 3,
    retryCount: 0,
    runAt: at(3_000),
    createdAt: at(0),
    tags: [],
    delivery: 'at-least-once',
    payload: {},
    generation: 1,
    retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '2s' }, jitter: 'none' },
    ...more,
  }
}

function attempt(run: number, from: number, to: number, more: Partial<AttemptView> = {}): AttemptView {
  return {
    generation: 1,
    run,
    attempt: run,
    retry: run - 1,
    label: run === 1 ? 'Initial' : `Retry #${run - 1}`,
    status: 'failed',
    startedAt: at(from),
    finishedAt: at(to),
    durationMs: to - from,
    workerId: 'w',
    ...more,
  }
}

/** Failed once, waited 2 s of a window of 1 to 3 s and another half second for a worker, and succeeded. */
const RETRIED = [
  attempt(1, 0, 1_000, {
    delayMs: 2_000,
    nextRunAt: at(3_000),
    decision: {
      action: 'retry',
      why: 'it may work again',
      windowMs: [1_000, 3_000],
      jitter: '±50 %',
      source: 'backoff',
    },
  }),
  attempt(2, 3_500, 4_000, { status: 'succeeded' }),
]

const history = (attempts: readonly AttemptView[], view = job(), now = 9_000) =>
  historyOf({ ...timelineOf(view, attempts, START + now), ghosts: [] })

describe('the parts of a history', () => {
  it('are the runs and waits in order', () => {
    const { parts } = history(RETRIED)
    expect(parts.map(({ kind, from, to }) => [kind, from - START, to - START])).toEqual([
      ['run', 0, 1_000],
      ['wait', 1_000, 3_000],
      ['queue', 3_000, 3_500],
      ['run', 3_500, 4_000],
    ])
  })

  it('include the jitter window of a wait', () => {
    expect(history(RETRIED).parts[1]).toMatchObject({ window: [START + 2_000, START + 4_000] })
  })

  it('have no jitter window after a Retry-After', () => {
    const told = RETRIED.map(each => ({
      ...each,
      ...(each.decision && { decision: { ...each.decision, source: 'retry-after' as const } }),
    }))
    expect(history(told).parts[1]).not.toHaveProperty('window')
  })

  it('have no gaps or overlaps if two clocks disagree', () => {
    const skewed = [RETRIED[0]!, attempt(2, 900, 4_000, { status: 'succeeded' })]
    const { parts } = history(skewed)
    expect(parts.slice(1).map(({ from }) => from)).toEqual(parts.slice(0, -1).map(({ to }) => to))
  })

  it('end with the final state of a job that ended without a run', () => {
    const view = job({ state: 'cancelled', phase: 'cancelled', attempt: 1, finishedAt: at(2_000) })
    expect(history([RETRIED[0]!], view).parts.at(-1)).toMatchObject({
      kind: 'end',
      status: 'cancelled',
      to: START + 2_000,
    })
  })

  it('separate two generations', () => {
    const again = [
      attempt(1, 0, 100),
      attempt(2, 60_000, 60_100, { generation: 2, label: 'Initial', status: 'succeeded' }),
    ]
    expect(history(again, job({ generation: 2 })).parts.map(({ kind }) => kind)).toEqual(['run', 'ended', 'run'])
  })
})

describe('coming runs', () => {
  const ghost = (n: number) => ({
    attempt: n,
    label: `Retry #${n - 1}`,
    earliest: START + n * 1_000,
    latest: START + n * 3_000,
  })
  const waiting = job({ state: 'waiting', phase: 'retrying', attempt: 1, runAt: at(2_000) })
  const withGhosts = (count: number) =>
    historyOf({
      ...timelineOf(waiting, [RETRIED[0]!], START + 1_500),
      ghosts: Array.from({ length: count }, (_, i) => ghost(i + 2)),
    })

  it('stand in the middle of their window', () => {
    const [first] = withGhosts(2).parts.filter(({ kind }) => kind === 'ghost')
    expect(first).toMatchObject({ from: START + 4_000, earliest: START + 2_000, latest: START + 6_000, isLast: false })
  })

  it('are the next three and the last, with the number of skipped runs', () => {
    const ghosts = withGhosts(9).parts.filter(part => part.kind === 'ghost')
    expect(ghosts.map(({ attempt: n, skipped, isLast }) => [n, skipped, isLast])).toEqual([
      [2, 0, false],
      [3, 0, false],
      [4, 0, false],
      [10, 5, true],
    ])
  })

  it('leave room for a deadline on request', () => {
    const facts = { ...withGhosts(1), deadline: START + 90_000 }
    expect(stretchesOf(facts, true).at(-1)).toEqual({ from: START + 4_000, to: START + 90_000, kind: 'idle' })
    expect(stretchesOf(facts, false)).toHaveLength(facts.parts.length)
  })
})

describe('many runs', () => {
  const many = Array.from({ length: 120 }, (_, i) =>
    attempt(i + 1, i * 100, i * 100 + 10, i === 3 ? { status: 'lost' } : {}),
  )

  it('are grouped into bars with their number and outcomes', () => {
    const runs = history(many).parts.filter((part): part is RunPart => part.kind === 'run')
    expect(runs).toHaveLength(40)
    expect(runs.reduce((sum, { rows }) => sum + rows.length, 0)).toBe(120)
    expect([runs[1]!.status, outcomesOf(runs[1]!)]).toEqual([
      'mixed',
      [
        ['failed', 2],
        ['lost', 1],
      ],
    ])
    expect(runs[0]!.label).toBe('Initial – Retry #2')
  })

  it('are drawn one by one up to 59', () => {
    expect(history(many.slice(0, 59)).parts.filter(({ kind }) => kind === 'run')).toHaveLength(59)
  })
})

describe('the facts of a part', () => {
  it('name the run, its times, its error and the decision', () => {
    const failed = [{ ...RETRIED[0]!, error: { name: 'Error', message: 'no answer', status: 503 } }, RETRIED[1]!]
    expect(factsOf(history(failed).parts[0]!, moment, START)).toEqual({
      title: 'Initial · failed',
      lines: [
        ['started', '0'],
        ['ended', '1000'],
        ['took', '1s'],
        ['status', '503'],
        ['error', 'Error: no answer'],
        ['worker', 'w'],
        ['then', 'it may work again'],
      ],
    })
  })

  it('show the planned wait and the jitter window', () => {
    const { title, lines } = factsOf(history(RETRIED).parts[1]!, moment, START)
    expect(title).toBe('Waited 2s')
    expect(lines).toContainEqual(['planned', '2s'])
    expect(lines).toContainEqual(['jitter', '±50 %: 1s to 3s'])
  })

  it('become one sentence for screen readers, and the history becomes one line of text', () => {
    const { parts } = history(RETRIED)
    expect(spoken(factsOf(parts[2]!, moment, START))).toBe('Due, waited for a worker 500ms, from 3000, to 3500')
    expect(historyText(parts)).toBe('Initial failed 1s ··2s·· ··500ms·· Retry #1 succeeded 500ms')
  })
})
