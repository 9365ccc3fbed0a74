import { describe, expect, it } from 'vitest'
import { timelineOf } from '../../src/core/job/timeline.js'
import type { AttemptView, JobView } from '../../src/core/job/view.js'
import { factsOf, lifeText, spoken } from '../../src/dashboard/timeline/facts.js'
import { lifeOf, outcomesOf, type RunPart, stretchesOf } from '../../src/dashboard/timeline/life.js'

const START = Date.parse('2026-03-01T10:00:00.000Z')
const at = (ms: number): string => new Date(START + ms).toISOString()
const moment = (ms: number): string => `${ms - START}`

function job(more: Partial<JobView> = {}): JobView {
  return {
    id: 'a',
    name: 'mail',
    queue: 'default',
    state: 'succeeded',
    phase: 'succeeded',
    priority: 5,
    attempt: 2,
    maxAttempts: 4,
    maxRetries: 3,
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

/** Failed once, was drawn 2 s of 1 to 3 s, was due for another half second, and succeeded. */
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

const life = (attempts: readonly AttemptView[], view = job(), now = 9_000) =>
  lifeOf({ ...timelineOf(view, attempts, START + now), ghosts: [] })

describe('the parts of a life', () => {
  it('are its runs and waits, one after the other', () => {
    const { parts } = life(RETRIED)
    expect(parts.map(({ kind, from, to }) => [kind, from - START, to - START])).toEqual([
      ['run', 0, 1_000],
      ['wait', 1_000, 3_000],
      ['queue', 3_000, 3_500],
      ['run', 3_500, 4_000],
    ])
  })

  it('know between which moments the dice could have put the end of a wait', () => {
    expect(life(RETRIED).parts[1]).toMatchObject({ window: [START + 2_000, START + 4_000] })
  })

  it('show no window where the other side said when to come back', () => {
    const told = RETRIED.map(each => ({
      ...each,
      ...(each.decision && { decision: { ...each.decision, source: 'retry-after' as const } }),
    }))
    expect(life(told).parts[1]).not.toHaveProperty('window')
  })

  it('have no gaps or overlaps where two clocks disagree', () => {
    const skewed = [RETRIED[0]!, attempt(2, 900, 4_000, { status: 'succeeded' })]
    const { parts } = life(skewed)
    expect(parts.slice(1).map(({ from }) => from)).toEqual(parts.slice(0, -1).map(({ to }) => to))
  })

  it('end with how it ended, where that was not a run', () => {
    const view = job({ state: 'cancelled', phase: 'cancelled', attempt: 1, finishedAt: at(2_000) })
    expect(life([RETRIED[0]!], view).parts.at(-1)).toMatchObject({
      kind: 'end',
      status: 'cancelled',
      to: START + 2_000,
    })
  })

  it('tell a new generation from the one before', () => {
    const again = [
      attempt(1, 0, 100),
      attempt(2, 60_000, 60_100, { generation: 2, label: 'Initial', status: 'succeeded' }),
    ]
    expect(life(again, job({ generation: 2 })).parts.map(({ kind }) => kind)).toEqual(['run', 'over', 'run'])
  })
})

describe('runs to come', () => {
  const ghost = (n: number) => ({
    attempt: n,
    label: `Retry #${n - 1}`,
    earliest: START + n * 1_000,
    latest: START + n * 3_000,
  })
  const waiting = job({ state: 'waiting', phase: 'retrying', attempt: 1, runAt: at(2_000) })
  const withGhosts = (count: number) =>
    lifeOf({
      ...timelineOf(waiting, [RETRIED[0]!], START + 1_500),
      ghosts: Array.from({ length: count }, (_, i) => ghost(i + 2)),
    })

  it('stand in the middle of what is possible', () => {
    const [first] = withGhosts(2).parts.filter(({ kind }) => kind === 'ghost')
    expect(first).toMatchObject({ from: START + 4_000, earliest: START + 2_000, latest: START + 6_000, isLast: false })
  })

  it('are the next three and the last, which says how many are left out', () => {
    const ghosts = withGhosts(9).parts.filter(part => part.kind === 'ghost')
    expect(ghosts.map(({ attempt: n, skipped, isLast }) => [n, skipped, isLast])).toEqual([
      [2, 0, false],
      [3, 0, false],
      [4, 0, false],
      [10, 5, true],
    ])
  })

  it('leave room for a deadline behind them, where it is wanted', () => {
    const facts = { ...withGhosts(1), deadline: START + 90_000 }
    expect(stretchesOf(facts, true).at(-1)).toEqual({ from: START + 4_000, to: START + 90_000, kind: 'idle' })
    expect(stretchesOf(facts, false)).toHaveLength(facts.parts.length)
  })
})

describe('very many runs', () => {
  const many = Array.from({ length: 120 }, (_, i) =>
    attempt(i + 1, i * 100, i * 100 + 10, i === 3 ? { status: 'lost' } : {}),
  )

  it('are drawn as fewer, which say how many they are and how they ended', () => {
    const runs = life(many).parts.filter((part): part is RunPart => part.kind === 'run')
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

  it('are drawn one by one as long as they are fewer than sixty', () => {
    expect(life(many.slice(0, 59)).parts.filter(({ kind }) => kind === 'run')).toHaveLength(59)
  })
})

describe('what is said of a part', () => {
  it('names the run, its times, its error and what was decided', () => {
    const failed = [{ ...RETRIED[0]!, error: { name: 'Error', message: 'no answer', status: 503 } }, RETRIED[1]!]
    expect(factsOf(life(failed).parts[0]!, moment, START)).toEqual({
      title: 'Initial · failed',
      lines: [
        ['started', '0'],
        ['ended', '1000'],
        ['took', '1 s'],
        ['status', '503'],
        ['error', 'Error: no answer'],
        ['worker', 'w'],
        ['then', 'it may work again'],
      ],
    })
  })

  it('holds the planned wait against what could have been drawn', () => {
    const { title, lines } = factsOf(life(RETRIED).parts[1]!, moment, START)
    expect(title).toBe('Waited 2 s')
    expect(lines).toContainEqual(['planned', '2 s'])
    expect(lines).toContainEqual(['jitter', '±50 %: 1 s to 3 s'])
  })

  it('is one sentence for those who hear it, and one line of text for a message', () => {
    const { parts } = life(RETRIED)
    expect(spoken(factsOf(parts[2]!, moment, START))).toBe('Due, and waited for a worker 500 ms, from 3000, to 3500')
    expect(lifeText(parts)).toBe('Initial failed 1 s ··2 s·· ··500 ms·· Retry #1 succeeded 500 ms')
  })
})
