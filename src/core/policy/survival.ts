import { ChronosError } from '../values/error.js'
import { Course } from './failure-path.js'
import type { Policy } from './policy.js'

/** One job in this many may die. */
const DEATHS_ONE_IN = 100
/** The number of simulated jobs if delays are random: enough for a precision of about 1 %. */
const LIVES = 10_000
const LIVES_OF_MANY_RETRIES = 1_000
const MANY_RETRIES = 50
/** The survived outage is a property of the policy, so it does not depend on the seed of a scenario. */
const SEED = 1

/**
 * The longest outage that 99 % of the jobs survive: jobs that failed when it began still have a run after it.
 * Runs take no time here, and no call is rejected afterwards; real runs that fail slowly survive a little longer.
 */
export function outageSurvived(policy: Policy): number {
  const known = survived.get(policy)
  if (known !== undefined) return known
  const foundMs = simulateSurvival(policy)
  survived.set(policy, foundMs)
  return foundMs
}

/** A preview, its warnings and its words all ask about the same policy. */
const survived = new WeakMap<Policy, number>()

function simulateSurvival(policy: Policy): number {
  refuseCustom(policy)
  const lives = policy.maxRetries > MANY_RETRIES ? LIVES_OF_MANY_RETRIES : LIVES
  const course = new Course(policy, lives, SEED)
  const lastRuns = new Float64Array(lives)
  for (let life = 0; life < lives; life++) {
    lastRuns[life] = lastRun(course, life)
    if (!course.isDrawn) return lastRuns[0]!
  }
  // A job survives an outage that ends at its last run, so the result is the percentile of the allowed deaths.
  return lastRuns.sort()[lives / DEATHS_ONE_IN]!
}

function lastRun(course: Course, life: number): number {
  let atMs = 0
  for (let retry = 1; ; retry++) {
    const nextMs = course.next(life, retry, atMs, 0)
    if (nextMs === null) return atMs
    atMs = nextMs
  }
}

export function refuseCustom({ backoff }: Policy): void {
  if (backoff.type !== 'custom') return
  throw new ChronosError(
    'INVALID_POLICY',
    `policy.backoff: "${backoff.name}" is a function that only workers have, so its delays are unknown here; ` +
      'give a list of the delays that it returns',
  )
}
