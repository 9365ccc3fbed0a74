import { describe, expect, it } from 'vitest'
import {
  acknowledge,
  cancel,
  discard,
  edit,
  expire,
  type JobChange,
  redrive,
  reschedule,
} from '../../../src/core/job/changes.js'
import type { Job, JobState } from '../../../src/core/job/job.js'

const NOW = 1_000_000

const WAITING: Job = {
  id: '01890000-0000-7000-8000-000000000001',
  name: 'send-mail',
  queue: 'default',
  priority: 5,
  delivery: 'at-least-once',
  payload: '{}',
  tags: ['a'],
  runAt: 900_000,
  createdAt: 800_000,
  state: 'waiting',
  generation: 1,
  run: 0,
  attempt: 0,
  snoozes: 0,
  releases: 0,
  losses: 0,
  strikes: 0,
  suspect: false,
  begun: false,
  cancelRequested: false,
}

const ENDED = { run: 3, attempt: 2, startedAt: 850_000, firstStartedAt: 840_000, finishedAt: 860_000 }
const JOBS: Readonly<Record<JobState, Job>> = {
  waiting: { ...WAITING, deadline: NOW - 1, pass: 7 },
  running: { ...WAITING, state: 'running', run: 1, attempt: 1, startedAt: 950_000, deadline: NOW - 1 },
  succeeded: { ...WAITING, ...ENDED, state: 'succeeded', result: '1' },
  dead: { ...WAITING, ...ENDED, state: 'dead', reason: 'exhausted', deadline: NOW - 1 },
  cancelled: { ...WAITING, ...ENDED, state: 'cancelled' },
}
const STATES = Object.keys(JOBS) as JobState[]

type Row = [rule: string, decide: JobChange, ends: Partial<Record<JobState, string>>]

/** The result of each rule for a job in each state, as `state reason`; a state that is absent is refused. */
const TABLE: Row[] = [
  ['cancel', cancel, { waiting: 'cancelled', running: 'running, asked to stop' }],
  ['reschedule', reschedule({ delayMs: 5 }), { waiting: 'waiting' }],
  ['edit', edit({ expect: JOBS.waiting, priority: 1 }), { waiting: 'waiting' }],
  ['redrive', redrive(), { dead: 'waiting', cancelled: 'waiting' }],
  ['acknowledge', acknowledge, { dead: 'dead exhausted' }],
  ['discard', discard, { dead: 'dead discarded' }],
  ['expire', expire, { waiting: 'dead expired' }],
]

function told(job: Job | undefined): string | undefined {
  if (!job) return undefined
  if (job.state === 'running') return job.cancelRequested ? 'running, asked to stop' : 'running'
  return [job.state, job.reason].filter(Boolean).join(' ')
}

describe('the changes of a job', () => {
  it.each(TABLE)('%s', (_name, decide, ends) => {
    for (const state of STATES) expect([state, told(decide(JOBS[state], NOW, 0))]).toEqual([state, ends[state]])
  })

  it.each(TABLE)('%s does not change its input', (_name, decide) => {
    for (const state of STATES) {
      const before = structuredClone(JOBS[state])
      decide(JOBS[state], NOW, 0)
      expect(JOBS[state]).toEqual(before)
    }
  })
})

describe('cancel', () => {
  it('ends a waiting job and removes its slot', () => {
    const { pass, ...kept } = JOBS.waiting
    expect(cancel(JOBS.waiting, NOW, 0)).toEqual({ ...kept, state: 'cancelled', finishedAt: NOW })
  })
})

describe('expire', () => {
  it.each([
    ['has passed', NOW - 1, 'dead expired'],
    ['is now', NOW, 'dead expired'],
    ['is in the future', NOW + 1, undefined],
  ])('a deadline that %s', (_when, deadline, end) => {
    expect(told(expire({ ...WAITING, deadline }, NOW, 0))).toBe(end)
  })

  it('refuses a job without a deadline', () => {
    expect(expire(WAITING, NOW, 0)).toBeUndefined()
  })
})

describe('reschedule', () => {
  it.each([
    ['a delay, rounded up', { delayMs: 0.2 }, NOW + 1],
    ['a time', { at: 42 }, 42],
  ])('takes %s', (_what, at, runAt) => {
    expect(reschedule(at)(WAITING, NOW, 0)).toEqual({ ...WAITING, runAt })
  })
})

describe('acknowledge and discard', () => {
  it('keep the time of the first acknowledgement', () => {
    const seen: Job = { ...JOBS.dead, acknowledgedAt: 5 }
    expect(acknowledge(JOBS.dead, NOW, 0)).toEqual({ ...JOBS.dead, acknowledgedAt: NOW })
    expect(acknowledge(seen, NOW, 0)).toBe(seen)
    expect(discard(seen, NOW, 0)).toEqual({ ...seen, reason: 'discarded' })
  })

  it('leave a discarded job unchanged', () => {
    const discarded = discard(JOBS.dead, NOW, 0)!
    expect(discard(discarded, NOW + 1, 0)).toBe(discarded)
  })
})

describe('redrive', () => {
  it('starts a new generation with nothing of the old one', () => {
    const used: Job = {
      ...JOBS.dead,
      ...{ snoozes: 1, releases: 2, losses: 3, strikes: 1, suspect: true, backoffMs: 5, begun: true },
      ...{ result: '1', progress: '2', pass: 3, acknowledgedAt: 4, redriveId: 'old', cancelRequested: true },
      error: { name: 'Error', message: 'boom' },
    }
    expect(redrive()(used, NOW, 0)).toEqual({ ...WAITING, generation: 2, run: 3, runAt: NOW })
  })

  it('keeps a deadline in the future', () => {
    const deadline = NOW + 1
    expect(redrive()({ ...JOBS.dead, deadline }, NOW, 0)).toMatchObject({ deadline })
    expect(redrive()(JOBS.dead, NOW, 0)).not.toHaveProperty('deadline')
  })

  it('uses the delay at its index in the batch', () => {
    const rule = redrive({ delaysMs: [10, 20.5] })
    expect([0, 1, 2].map(index => rule(JOBS.dead, NOW, index)?.runAt)).toEqual([NOW + 10, NOW + 21, NOW])
  })

  it('refuses a job that has died again since the redrive began', () => {
    const rule = redrive({ redriveId: 'r1', endedBy: NOW })
    expect(rule({ ...JOBS.dead, redriveId: 'r2', finishedAt: NOW + 1 }, NOW + 2, 0)).toBeUndefined()
    expect(rule({ ...JOBS.dead, finishedAt: NOW }, NOW + 2, 0)).toMatchObject({ state: 'waiting', redriveId: 'r1' })
  })

  it.each(STATES)('leaves a %s job unchanged that the same redrive has started', state => {
    const job: Job = { ...JOBS[state], redriveId: 'r1' }
    expect(redrive({ redriveId: 'r1' })(job, NOW, 0)).toBe(job)
  })
})

describe('the slot of a job that is moved', () => {
  const { pass, ...free } = JOBS.waiting

  it.each([
    ['stays if it is to run now', { delayMs: 0 }, { ...JOBS.waiting, runAt: NOW }],
    ['is replaced by a later time', { delayMs: 5 }, { ...free, runAt: NOW + 5 }],
  ] as const)('%s', (_what, at, expected) => {
    expect(reschedule(at)(JOBS.waiting, NOW, 0)).toEqual(expected)
    expect(edit({ expect: JOBS.waiting, runAt: at })(JOBS.waiting, NOW, 0)).toEqual(expected)
  })
})

describe('edit', () => {
  const job: Job = {
    ...WAITING,
    timeoutMs: 5,
    deadline: 2 * NOW,
    override: { maxRetries: 1 },
    dependency: 'a',
    pass: 3,
  }

  it('changes what it names', () => {
    const asked = {
      payload: '1',
      priority: 9,
      tags: ['b'],
      queue: 'other',
      runAt: { at: 3 },
      override: { maxRetries: 2 },
    }
    const { runAt, ...facts } = asked
    expect(edit({ expect: job, ...asked })(job, NOW, 0)).toEqual({ ...job, ...facts, runAt: 3 })
  })

  it('removes fields that are null', () => {
    const { timeoutMs, deadline, override, ...kept } = job
    const asked = { timeoutMs: null, deadline: null, override: null }
    expect(edit({ expect: job, ...asked })(job, NOW, 0)).toEqual(kept)
  })

  it('drops the slot of the previous dependency', () => {
    const { pass, ...kept } = job
    expect(edit({ expect: job, dependency: 'a' })(job, NOW, 0)).toEqual(job)
    expect(edit({ expect: job, dependency: 'b' })(job, NOW, 0)).toEqual({ ...kept, dependency: 'b' })
  })

  it.each([
    ['runs', { state: 'running' }],
    ['ran in between', { run: 1 }],
    ['was moved', { runAt: 1 }],
    ['was edited', { payload: '2' }],
    ['is of another generation', { generation: 2 }],
  ] as [string, Partial<Job>][])('refuses a job that %s', (_what, change) => {
    expect(edit({ expect: job, priority: 1 })({ ...job, ...change }, NOW, 0)).toBeUndefined()
  })
})
