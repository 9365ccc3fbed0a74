import { Course } from '../policy/failure-path.js'
import type { Policy } from '../policy/policy.js'
import { about, type Infer, integer, number } from '../values/schema.js'
import { listOf, view } from '../values/shape.js'
import { DueJobs } from './due-heap.js'
import { SeriesRecorder } from './series.js'

const SECOND_MS = 1_000

/** What happens to a dependency, and how many jobs need it. Times count from the first run. */
export interface Storm {
  readonly jobs: number
  readonly withinMs: number
  readonly outageMs: number
  /** Infinity: no limit. */
  readonly capacityPerSecond: number
  readonly seed: number
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
 * of attempts per second and rejects the rest, which are failed attempts like any other. Attempts take no time.
 */
export function runHerd(policy: Policy, storm: Storm): HerdRun {
  const { jobs, withinMs } = storm
  const course = new Course(policy, jobs, storm.seed)
  const due = new DueJobs(jobs)
  const runs = new Uint32Array(jobs)
  const tally = new Tally(storm)
  const firstMs = (job: number): number => Math.floor((job * withinMs) / jobs)
  for (let job = 0; job < jobs; job++) due.put(job, firstMs(job))

  while (due.size > 0) {
    const atMs = due.nextMs
    const job = due.take()
    const retry = runs[job]!++
    if (tally.isServed(retry, atMs)) continue
    const nextMs = course.next(job, retry + 1, atMs, firstMs(job))
    if (nextMs === null) tally.bury(atMs)
    else due.put(job, nextMs)
  }
  return tally.close()
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

  constructor(storm: Storm) {
    this.#storm = storm
  }

  isServed(retry: number, atMs: number): boolean {
    const { outageMs, capacityPerSecond } = this.#storm
    const second = Math.floor(atMs / SECOND_MS)
    if (second !== this.#second) this.#nextSecond(second)
    this.#attempts++
    this.#secondAttempts++
    this.#doneMs = atMs
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
