import type { Mood } from '../simulation/world/plan.js'

/** A bug that was, or could be, in the code: when it is reintroduced, the simulation or a check must catch it. */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Exact text of the file, which occurs once. */
  readonly find: string
  readonly replace: string
  /** A seed that is known to catch it, which is tried first. */
  readonly from?: number
  /** The kind of simulation that shows it; if absent, any kind does. */
  readonly mood?: Exclude<Mood, 'wild'>
  /** The check that catches it instead of the simulation: `file#export` in `killers/`. */
  readonly killer?: string
}
