import type { Job, RunStatus } from '../../../src/core/job/job.js'
import type { AttemptRecord, LogRecord } from '../../../src/store/store.js'
import type { Start } from '../ledger.js'
import type { Promised } from '../verdict.js'
import { LIMITED } from '../world/limits.js'
import { type JobPlan, policyOf, type RetryPlan } from '../world/plan.js'
import { payloadOf } from '../world/rolling.js'
import type { World } from '../world/world.js'

export interface StoredJob {
  readonly job: Job
  /** In the order of their runs. */
  readonly rows: readonly AttemptRecord[]
  readonly logs: readonly LogRecord[]
}

interface Case extends StoredJob {
  readonly plan: JobPlan
  readonly policy: RetryPlan
  readonly starts: readonly Start[]
  readonly startOf: (run: number) => Start | undefined
  readonly broken: (promise: Promised, what: string) => void
}

const RELEASES_MAX = 20
const SNOOZES_MAX = 1_000
const DAY_MS = 86_400_000

/** Compares one job's rows with the records of its handlers. */
export function checkRuns(world: World, stored: StoredJob): void {
  const { job } = stored
  const { ref } = payloadOf(job.payload)
  const plan = world.jobs[ref]!
  const starts = world.ledger.startsOf(job.id)
  const broken = (promise: Promised, what: string): void => world.verdict.broken(promise, `#${ref} ${job.id}: ${what}`)
  const startOf = (run: number): Start | undefined => starts.find(start => start.run === run)
  const policy = policyOf(plan)
  const one: Case = { ...stored, plan, policy, starts, startOf, broken }
  checkNumbers(one)
  checkAttempts(one)
  checkLimit(one)
  checkReason(one)
  checkStatuses(world, one)
  checkTimes(world, one)
  checkDelays(world, one)
  checkByHand(world, one)
  checkEffects(world, one)
}

function checkNumbers({ job, rows, starts, broken }: Case): void {
  const runs = rows.map(row => row.run)
  const gapless = runs.every((run, index) => run === index + 1) && runs.length === job.run
  if (!gapless) broken('every run has one row without gaps', `runs ${runs} of ${job.run}`)
  if (starts.length > job.run) broken('every run has one row without gaps', `${starts.length} starts, ${job.run} runs`)
  for (const { run, generation, startedAt, finishedAt } of rows) {
    if (finishedAt < startedAt) broken('rows agree with what the handlers did', `run ${run} ended before it started`)
    if (generation > job.generation) broken('every run has one row without gaps', `run ${run} of a later generation`)
  }
}

/** Whether the run's attempt was given back; undefined if both are allowed. */
function isGivenBack(status: RunStatus, hasStarted: boolean, policy: RetryPlan): boolean | undefined {
  switch (status) {
    case 'snoozed':
    case 'deferred':
      return true
    case 'released':
      return !(hasStarted && isFinal(policy))
    case 'lost':
      return hasStarted && policy.crashes !== 'forgive' ? false : undefined
    case 'cancelled':
      return undefined
    default:
      return false
  }
}

/** A job without retries is not started again, even if its worker stops in an orderly way. */
const isFinal = ({ maxRetries, crashes }: RetryPlan): boolean => maxRetries === 0 && crashes !== 'forgive'

/** Only a snooze or an orderly release lets the handler start more often than the policy says. */
function checkLimit({ job, rows, policy, starts, broken }: Case): void {
  if (job.delivery === 'at-most-once' || policy.crashes === 'forgive') return
  for (let generation = 1; generation <= job.generation; generation++) {
    const counted = starts.filter(start => {
      const status = rows.find(({ run }) => run === start.run)?.status
      const isFree = status === 'snoozed' || (status === 'released' && !isFinal(policy))
      return start.generation === generation && !isFree
    })
    if (counted.length <= policy.maxRetries + 1) continue
    const runs = counted.map(({ run }) => run)
    broken('attempts stay within the limit', `runs ${runs} started with maxRetries ${policy.maxRetries}`)
  }
}

function checkAttempts({ job, rows, policy, startOf, broken }: Case): void {
  for (let generation = 1; generation <= job.generation; generation++) {
    const own = rows.filter(row => row.generation === generation)
    if (own.length > 0 && own[0]!.attempt !== 1) {
      broken('attempts are counted at the claim', `generation ${generation} began with attempt ${own[0]!.attempt}`)
    }
    for (const [index, row] of own.entries()) {
      const next = own[index + 1]?.attempt ?? (generation === job.generation ? job.attempt + 1 : undefined)
      const isBack = next === undefined ? undefined : next === row.attempt
      const isOnce = job.delivery === 'at-most-once'
      const wanted = isOnce ? undefined : isGivenBack(row.status, startOf(row.run) !== undefined, policy)
      if (next !== undefined && next !== row.attempt && next !== row.attempt + 1) {
        broken('an attempt is given back once', `run ${row.run}: attempt ${row.attempt}, then ${next}`)
      } else if (isBack !== undefined && wanted !== undefined && isBack !== wanted) {
        broken('an attempt is given back once', `run ${row.run} ${row.status}: attempt ${row.attempt}, then ${next}`)
      }
      if (row.attempt > policy.maxRetries + 1) {
        broken('attempts stay within the limit', `attempt ${row.attempt} with maxRetries ${policy.maxRetries}`)
      }
    }
    const failures = own.filter(({ status }) => status === 'failed' || status === 'timed-out').length
    if (failures > policy.maxRetries + 1) broken('attempts stay within the limit', `${failures} failed runs`)
  }
  const { snoozes, releases } = job
  if (snoozes > SNOOZES_MAX || releases > RELEASES_MAX) {
    broken('attempts stay within the limit', `${snoozes} snoozes, ${releases} releases`)
  }
}

/** The end of the last generation must follow from its last run. */
function checkReason({ job, rows, plan, policy, startOf, broken }: Case): void {
  const own = rows.filter(row => row.generation === job.generation)
  const last = own.at(-1)
  const successes = own.filter(({ status }) => status === 'succeeded')
  const hasSucceeded = last?.status === 'succeeded' && successes.length === 1
  if ((job.state === 'succeeded') !== hasSucceeded || (successes.length > 0 && !hasSucceeded)) {
    broken('a completed job never runs again', `it is ${job.state} after ${own.map(({ status }) => status)}`)
  }
  if (job.state !== 'dead') return
  const how = last && startOf(last.run)?.end?.how
  const isOnce = job.delivery === 'at-most-once'
  const fits: Partial<Record<NonNullable<Job['reason']>, boolean>> = {
    exhausted: !isOnce && job.attempt === policy.maxRetries + 1,
    permanent: !isOnce && how === 'gave up',
    failed: isOnce && (how === 'threw' || how === 'gave up'),
    'unknown-outcome':
      isOnce && (last?.status === 'lost' || last?.status === 'released' || last?.status === 'timed-out'),
    poison: !isOnce && job.strikes === 3 && last?.status === 'lost',
    'too-old': !isOnce && plan.maxElapsedMs !== undefined,
    expired: plan.deadlineMs !== undefined,
    discarded: plan.queue === LIMITED,
  }
  if (fits[job.reason!] === true) return
  const facts = { attempt: job.attempt, delivery: job.delivery, strikes: job.strikes, last: last?.status, how }
  broken('rows agree with what the handlers did', `it is dead (${job.reason}) with ${JSON.stringify(facts)}`)
}

type How = NonNullable<Start['end']>['how'] | 'no end'

/** What a handler must have done for its run to have this outcome. */
const HOW: Readonly<Partial<Record<RunStatus, readonly How[]>>> = {
  succeeded: ['returned'],
  failed: ['threw', 'gave up'],
  snoozed: ['snoozed'],
  'timed-out': ['returned', 'threw', 'gave up', 'snoozed', 'no end'],
}

function checkStatuses(world: World, { rows, logs, startOf, broken }: Case): void {
  for (const { run, status, workerId, generation } of rows) {
    const start = startOf(run)
    const how = start?.end?.how ?? 'no end'
    const worker = world.hostOf(workerId)
    if (!worker) broken('rows agree with what the handlers did', `run ${run} by an unknown worker ${workerId}`)
    if (HOW[status] && (!start || !HOW[status].includes(how))) {
      broken(
        'rows agree with what the handlers did',
        `run ${run} is ${status}, its handler: ${start ? how : 'no start'}`,
      )
    }
    if (!start) continue
    if (start.by !== worker || start.generation !== generation) {
      broken('each run has one lease holder', `run ${run} was started by ${start.by.name}, settled by ${workerId}`)
    }
    const lines = logs.filter(line => line.run === run).length
    if (status === 'lost' ? lines > start.logged : lines !== start.logged) {
      broken('rows agree with what the handlers did', `run ${run} (${status}) logged ${start.logged}, kept ${lines}`)
    }
  }
}

/** A worker records the store's time, give or take the latency, whatever its own clock says. */
function checkTimes({ plan }: World, { job, rows, startOf, broken }: Case): void {
  // A pull worker starts when it has the response to its claim, which is when it starts for the store.
  if ((plan.mood !== 'crashes' && plan.mood !== 'outages') || job.name === 'pulled') return
  // Separate connections may have to wait for each other.
  const wayMs = plan.swarm.latencyMs + (plan.store === 'sqlite file' ? 100 : 0)
  for (const { run, status, startedAt } of rows) {
    const start = startOf(run)
    if (!start || status === 'lost') continue
    const offMs = Math.abs(startedAt - start.at)
    if (offMs > wayMs) broken('times are those of the store', `the start of run ${run} is ${offMs} ms off`)
  }
}

function checkDelays(world: World, { job, rows, policy, starts, startOf, broken }: Case): void {
  // A circuit that closes brings its jobs back early.
  const moved =
    job.dependency !== undefined || world.witness.done.some(({ id, deed }) => id === job.id && deed === 'reschedule')
  for (const { run, status, attempt, delayMs, nextRunAt, decision, generation } of rows) {
    if (delayMs === undefined || nextRunAt === undefined) continue
    const [lo, hi] = windowOf(policy, attempt)
    // It was lost by a worker that does not know the job before another one had it, so its policy is unknown.
    if (status === 'lost' && !startOf(run)) continue
    const isLonger = delayMs > hi + 1 && decision.source !== 'retry-after'
    if (decision.action === 'retry' && (delayMs < lo - 1 || isLonger)) {
      broken('a retry waits as its policy says', `run ${run} ${status}: ${delayMs} ms, expected ${lo} to ${hi}`)
    }
    const next = starts.find(start => start.run > run && start.generation === generation)
    if (next && next.at < nextRunAt && !moved) {
      broken('a retry waits as its policy says', `run ${next.run} started ${nextRunAt - next.at} ms early`)
    }
  }
}

/** The documented windows, computed independently. */
function windowOf({ backoff, jitter, cap = DAY_MS }: RetryPlan, retry: number): [lo: number, hi: number] {
  const raw =
    backoff.type === 'fixed'
      ? backoff.delay
      : backoff.type === 'list'
        ? (backoff.delays[retry - 1] ?? Number.NaN)
        : backoff.base * backoff.factor ** (retry - 1)
  const ms = Math.min(raw, cap)
  switch (jitter) {
    case 'none':
      return [ms, ms]
    case 'full':
      return [0, ms]
    case 'equal':
      return [ms / 2, ms]
    default:
      return [ms * (1 - jitter), Math.min(cap, ms * (1 + jitter))]
  }
}

function checkByHand({ ledger, witness, observer }: World, { job, starts, broken }: Case): void {
  const redrives = witness.done.filter(({ id, deed }) => id === job.id && deed === 'redrive').length
  if (job.generation !== 1 + redrives) {
    broken('a terminal state changes only by redrive', `generation ${job.generation} after ${redrives} redrives`)
  }
  const asked = ledger.manuals.filter(({ act, target }) => act === 'retry' && target === job.id).length
  const restarted = observer.restarts.filter(({ jobId }) => jobId === job.id).length
  if (redrives > asked + restarted) {
    broken('a terminal state changes only by redrive', `${redrives} redrives, ${asked} asked for, ${restarted} in bulk`)
  }
  for (const { act, target, generation, answer } of ledger.manuals) {
    if (act !== 'cancel' || target !== job.id || answer?.kind !== 'ok') continue
    const later = starts.find(start => start.generation === generation && start.run > answer.run!)
    if (later) broken('a cancelled job does not start again', `run ${later.run} after the cancel was acknowledged`)
  }
}

function checkEffects({ ledger, witness }: World, { job, starts, broken }: Case): void {
  const effect = ledger.effects.get(`${job.id} charge`)
  if (!effect) return
  const recorded = witness.model.row(job.id)?.effects.get('charge')?.result
  const results = new Set(effect.returned.map(value => JSON.stringify(value)))
  if (results.size > 1 || (results.size === 1 && !results.has(recorded!))) {
    broken('an effect is remembered once recorded', `recorded ${recorded}, returned ${[...results]}`)
  }
  if (effect.runs > starts.length) broken('an effect is remembered once recorded', `carried out ${effect.runs} times`)
}
