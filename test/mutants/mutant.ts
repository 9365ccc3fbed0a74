import { FIRST_SEED_OF, MOOD_EVERY, type Mood } from '../simulation/world/plan.js'

/** A bug that was, or could be, in the code: when it is reintroduced, the simulation or a check must catch it. */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Exact text of the file, which occurs once. */
  readonly find: string
  readonly replace: string
  /** A seed that is known to catch it, which is tried first: `npm run mutants:seeds` finds it. */
  readonly from?: number
  /** The kind of simulation that shows it; if absent, any kind does. */
  readonly mood?: Exclude<Mood, 'wild'>
  /** The check that catches it instead of the simulation: `file#export` in `killers/`. */
  readonly killer?: string
}

/** The number of seeds that a mutant may survive. */
const SEEDS_MAX = 250

/**
 * The seeds that may catch it, in the order in which they are tried. Only seeds that run on the mutated store can catch
 * a bug of it: the odd seeds use SQLite.
 */
export function seedsFor({ file, mood, from }: Mutant): number[] {
  const first = mood ? FIRST_SEED_OF[mood] : 1
  const step = mood ? MOOD_EVERY : file.startsWith('src/store/') ? 2 : 1
  const others = Array.from({ length: SEEDS_MAX }, (_, index) => first + index * step)
  return from === undefined ? others : [from, ...others.filter(seed => seed !== from)]
}
