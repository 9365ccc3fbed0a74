import { describe, expect, it } from 'vitest'
import { attemptLabel } from '../../../src/core/job/job.js'
import { type Timeline, timelineOf } from '../../../src/core/job/timeline.js'
import { type AttemptView, type JobView, timeText } from '../../../src/core/job/view.js'

/** A job made at 0 and shown at a hundred seconds. */
function job(
  facts: Partial<Record<'runAt' | 'startedAt' | 'finishedAt', number>> & Pick<JobView, 'state'>,
  rest: Partial<JobView> = {},
): JobView {
  const { runAt = 0, startedAt, finishedAt, state } = facts
  return {
    kind: 'job',
    id: 'id',
    name: 'job',
    queue: 'default',
    state,
    phase: state === 'waiting' ? 'queued' : state,
    priority: 5,
    attempt: 0,
    maxAttempts: 4,
    maxRetries: 3,
    retryCount: 0,
    runAt: timeText(runAt * 1000),
    createdAt: timeText(0),
    ...(startedAt !== undefined && { startedAt: timeText(startedAt * 1000) }),
    ...(finishedAt !== undefined && { finishedAt: timeText(finishedAt * 1000) }),
    tags: [],
    delivery: 'at-least-once',
    payload: null,
    generation: 1,
    retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '10s' }, jitter: 'none' },
    ...rest,
  }
}

function run(
  number: number,
  from: number,
  to: number,
  rest: Partial<AttemptView> & { next?: number } = {},
): AttemptView {
  const { next, ...more } = rest
  return {
    generation: 1,
    run: number,
    attempt: number,
    retry: number - 1,
    label: attemptLabel(number),
    status: 'failed',
    startedAt: timeText(from * 1000),
    finishedAt: timeText(to * 1000),
    durationMs: (to - from) * 1000,
    workerId: 'w',
    ...(next !== undefined && { nextRunAt: timeText(next * 1000) }),
    ...more,
  }
}

const NOW = 100_000

/** One text per row: `Initial failed: waiting 0-5, running 5-6`. */
function told({ rows }: Timeline): readonly string[] {
  return rows.map(({ label, status, spans }) => {
    const parts = spans.map(({ kind, from, to }) => `${kind} ${from / 1000}-${to / 1000}`)
    return `${label} ${status}: ${parts.join(', ')}`
  })
}

describe('timelineOf', () => {
  it.each<[name: string, job: JobView, attempts: AttemptView[], rows: string[]]>([
    ['a job that is to run later', job({ state: 'waiting', runAt: 150 }), [], ['Initial next: waiting 0-150']],
    ['a job that is due', job({ state: 'waiting', runAt: 40 }), [], ['Initial next: waiting 0-40, queued 40-100']],
    [
      'a job that runs',
      job({ state: 'running', startedAt: 60 }, { attempt: 1 }),
      [],
      ['Initial running: waiting 0-60, running 60-100'],
    ],
    [
      'a job that succeeded at its second attempt, which started later than planned',
      job({ state: 'succeeded', finishedAt: 23 }, { attempt: 2 }),
      [run(2, 20, 23, { status: 'succeeded' }), run(1, 1, 5, { next: 15 })],
      ['Initial failed: waiting 0-1, running 1-5', 'Retry #1 succeeded: waiting 5-15, queued 15-20, running 20-23'],
    ],
    [
      'a retry that an operator ran earlier than planned',
      job({ state: 'dead', finishedAt: 9 }, { attempt: 2 }),
      [run(1, 0, 5, { next: 60 }), run(2, 8, 9)],
      ['Initial failed: running 0-5', 'Retry #1 failed: waiting 5-8, running 8-9'],
    ],
    [
      'a future retry, moved by an operator',
      job({ state: 'waiting', runAt: 300 }, { attempt: 1 }),
      [run(1, 0, 5, { next: 60 })],
      ['Initial failed: running 0-5', 'Retry #1 next: waiting 5-300'],
    ],
    [
      'a job that was dead and started again',
      job({ state: 'running', startedAt: 90 }, { attempt: 1, generation: 2 }),
      [run(1, 0, 5)],
      ['Initial failed: running 0-5', 'Restart #1 running: ended 5-90, running 90-100'],
    ],
    [
      'a job that was cancelled while it waited',
      job({ state: 'cancelled', finishedAt: 30 }, { attempt: 1 }),
      [run(1, 0, 5, { next: 60 })],
      ['Initial failed: running 0-5', 'End cancelled: waiting 5-30'],
    ],
    [
      'a run that took no time',
      job({ state: 'succeeded', finishedAt: 2 }, { attempt: 1 }),
      [run(1, 2, 2, { status: 'succeeded' })],
      ['Initial succeeded: waiting 0-2, running 2-2'],
    ],
  ])('shows %s', (_, of, attempts, rows) => {
    const timeline = timelineOf(of, attempts, NOW)
    expect(told(timeline)).toEqual(rows)
    expect(timeline.earlier).toBe(0)
  })

  it('begins with the first given run, and counts the earlier ones', () => {
    const timeline = timelineOf(
      job({ state: 'succeeded', finishedAt: 51 }, { attempt: 5 }),
      [run(5, 50, 51), run(4, 30, 31, { next: 50 })],
      NOW,
    )
    expect(timeline).toMatchObject({ from: 30_000, to: 51_000, earlier: 3 })
    expect(told(timeline)).toEqual(['Retry #3 failed: running 30-31', 'Retry #4 failed: waiting 31-50, running 50-51'])
  })

  it("has no gaps and no overlaps, whatever the workers' clocks said", () => {
    const attempts = [run(1, 5, 3, { next: 4 }), run(2, 6, 8, { next: 7 }), run(3, 20, 25)]
    const spans = timelineOf(job({ state: 'dead', finishedAt: 25 }, { attempt: 3 }), attempts, NOW).rows.flatMap(
      row => row.spans,
    )
    for (const [index, { from, to }] of spans.entries()) {
      expect(to).toBeGreaterThanOrEqual(from)
      if (index > 0) expect(from).toBe(spans[index - 1]!.to)
    }
  })
})
