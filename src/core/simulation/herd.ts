import { Course } from '../policy/failure-path.js'
import type { Policy } from '../policy/policy.js'
import { about, type Infer, integer, number } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { DueJobs } from './due-heap.js'
import { SeriesRecorder } from './series.js'
import { type StormLimits, WaitingLine } from './waiting-line.js'

const SECOND_MS = 1_000

/** What happens to a dependency, and how many jobs need it. Times count from the first run. */
export interface Storm {
  readonly jobs: number
  readonly withinMs: number
  readonly outageMs: number
  /** Infinity: no limit. */
  readonly capacityPerSecond: number
  readonly seed: number
  /** Absent: due attempts start at once and take no time. */
  readonly limits?: StormLimits
}

/** All runs with the same number: retry 1 of every job, and so on; 0 stands for the first runs. */
export const wave = view({ retry: integer(), attempts: integer(), fromMs: number(), toMs: number() })
export type Wave = Infer<typeof wave>

/** The result of a simulation. */
export const herd = view({
  succeeded: integer(),
  dead: integer(),
  deadAfterRecovery: about(
    integer(),
    'The dead jobs that had a run after the recovery, which the dependency rejected.',
  ),
  attempts: integer(),
  turnedAway: about(integer(), 'Attempts after the recovery that the dependency rejected for lack of capacity.'),
  amplification: about(number(), 'Attempts per job.'),
  peakPerSecond: about(integer(), 'The most attempts in one second after the recovery.'),
  doneMs: about(number(), 'When the last job ended, succeeded or dead.'),
  heldBack: about(integer(), 'Attempts that waited for a limit.'),
  longestWaitMs: about(number(), 'The longest that an attempt waited for a limit.'),
  waves: listOf(wave),
})
export type Herd = Infer<typeof herd>

export interface HerdRun {
  readonly herd: Herd
  readonly recorder: SeriesRecorder
}

/**
 * Simulates a thundering herd, attempt by attempt, with the policy's own plan.
 *
 * The dependency is down from 0 until `outageMs`; every attempt in that time fails. After that it serves a fixed number
 * of attempts per second and rejects the rest, which are failed attempts like any other. Without limits, attempts take
 * no time; with limits, a due attempt starts when they allow it.
 */
export function runHerd(policy: Policy, storm: Storm): HerdRun {
  const { jobs, withinMs, limits } = storm
  const course = new Course(policy, jobs, storm.seed)
  const due = new DueJobs(jobs)
  const runs = new Uint32Array(jobs)
  const tally = new Tally(storm)
  const firstMs = (job: number): number => Math.floor((job * withinMs) / jobs)
  for (let job = 0; job < jobs; job++) due.put(job, firstMs(job))
  /** `startedMs`: when its first attempt has started. */
  const attempt = (job: number, atMs: number, endMs: number, startedMs: number): void => {
    const retry = runs[job]!++
    if (tally.isServed(retry, atMs, endMs)) return
    const nextMs = course.next(job, retry + 1, endMs, startedMs)
    if (nextMs === null) tally.bury(atMs)
    else due.put(job, nextMs)
  }
  if (limits) {
    runInLine(due, new WaitingLine(limits, jobs), limits.takesMs, jobs, tally, attempt)
    return tally.close()
  }
  while (due.size > 0) {
    const atMs = due.nextMs
    const job = due.take()
    attempt(job, atMs, atMs, firstMs(job))
  }
  return tally.close()
}

/** Starts due attempts when the limits allow it. */
function runInLine(
  due: DueJobs,
  line: WaitingLine,
  takesMs: number,
  jobs: number,
  tally: Tally,
  attempt: (job: number, atMs: number, endMs: number, startedMs: number) => void,
): void {
  const dueMs = new Float64Array(jobs)
  const startedMs = new Float64Array(jobs).fill(Number.NaN)
  for (let nowMs = 0; due.size > 0 || line.size > 0; ) {
    nowMs = Math.max(nowMs, Math.min(due.size > 0 ? due.nextMs : Number.POSITIVE_INFINITY, line.nextMs))
    while (due.size > 0 && due.nextMs <= nowMs) {
      const atMs = due.nextMs
      const job = due.take()
      dueMs[job] = atMs
      line.put(job, nowMs)
    }
    const job = line.take(nowMs)
    if (job === undefined) continue
    tally.holdBack(nowMs - dueMs[job]!)
    if (Number.isNaN(startedMs[job]!)) startedMs[job] = nowMs
    attempt(job, nowMs, nowMs + takesMs, startedMs[job]!)
  }
}

/** The simulated dependency, which counts the attempts that it gets. Attempts must come in order. */
class Tally {
  readonly #storm: Storm
  readonly #recorder = new SeriesRecorder()
  readonly #waves: { retry: number; attempts: number; fromMs: number; toMs: number }[] = []
  #second = 0
  #secondAttempts = 0
  #secondServed = 0
  #secondAfterRecovery = 0
  #attempts = 0
  #succeeded = 0
  #dead = 0
  #deadAfterRecovery = 0
  #turnedAway = 0
  #peak = 0
  #doneMs = 0
  #heldBack = 0
  #longestWaitMs = 0

  constructor(storm: Storm) {
    this.#storm = storm
  }

  isServed(retry: number, atMs: number, endMs: number): boolean {
    const { outageMs, capacityPerSecond } = this.#storm
    const second = Math.floor(atMs / SECOND_MS)
    if (second !== this.#second) this.#nextSecond(second)
    this.#attempts++
    this.#secondAttempts++
    this.#doneMs = endMs
    this.#ride(retry, atMs)
    if (atMs < outageMs) return false
    this.#secondAfterRecovery++
    if (this.#secondServed >= capacityPerSecond) {
      this.#turnedAway++
      return false
    }
    this.#secondServed++
    this.#succeeded++
    return true
  }

  /** An attempt has waited for a limit, by less than a millisecond if it starts at the next one. */
  holdBack(ms: number): void {
    if (ms < 1) return
    this.#heldBack++
    this.#longestWaitMs = Math.max(this.#longestWaitMs, ms)
  }

  bury(atMs: number): void {
    this.#dead++
    if (atMs >= this.#storm.outageMs) this.#deadAfterRecovery++
  }

  close(): HerdRun {
    this.#nextSecond(this.#second)
    const herd = {
      succeeded: this.#succeeded,
      dead: this.#dead,
      deadAfterRecovery: this.#deadAfterRecovery,
      attempts: this.#attempts,
      turnedAway: this.#turnedAway,
      amplification: this.#attempts / this.#storm.jobs,
      peakPerSecond: this.#peak,
      doneMs: this.#doneMs,
      heldBack: this.#heldBack,
      longestWaitMs: this.#longestWaitMs,
      waves: this.#waves,
    }
    return { herd, recorder: this.#recorder }
  }

  #nextSecond(second: number): void {
    this.#recorder.add(this.#second, this.#secondAttempts, this.#secondServed)
    this.#peak = Math.max(this.#peak, this.#secondAfterRecovery)
    this.#second = second
    this.#secondAttempts = 0
    this.#secondServed = 0
    this.#secondAfterRecovery = 0
  }

  #ride(retry: number, atMs: number): void {
    const wave = this.#waves[retry]
    if (wave === undefined) {
      // Retries are numbered without gaps, so the next wave is always the one after the last.
      this.#waves[retry] = { retry, attempts: 1, fromMs: atMs, toMs: atMs }
      return
    }
    wave.attempts++
    wave.toMs = atMs
  }
}
