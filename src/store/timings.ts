import { present } from '../core/values/present.js'
import { countsId, RESOLUTION_MS, RESOLUTIONS } from './counts-id.js'
import { type Delta, tally } from './delta.js'
import { addTimings, noTimings, type TimingSum, type Timings, timingsOf } from './timing-sum.js'

// Adds the run times and waits of deltas to histograms per minute and per hour, by queue and job name, and by queue.

export const TIMINGS = 'timings'
export const QUEUE_TIMINGS = 'queue-timings'
/** One record: the queues and job names that have histograms of their own, with the hour of their latest run. */
export const TIMING_PLACES = 'timing-places'
export const TIMING_PLACES_ID = 'all'

export type TimingPlaces = Readonly<Record<string, number>>

/** How many pairs of a queue and a job name have histograms of their own. The others share one per queue. */
export const TIMING_PLACES_MAX = 1_000

interface Key {
  readonly kind: typeof TIMINGS | typeof QUEUE_TIMINGS | typeof TIMING_PLACES
  readonly id: string
}

/** The place of the job names of a queue that have no histograms of their own. No job has an empty name. */
const restOf = (place: string): string => `${queueOf(place)} `
const queueOf = (place: string): string => place.split(' ', 1)[0]!

function* timingsIn({ timings = {} }: Delta): Generator<readonly [at: number, place: string, timings: Timings]> {
  for (const [minute, places] of Object.entries(timings)) {
    for (const [place, change] of Object.entries(places)) yield [Number(minute), place, change]
  }
}

/** The records that these deltas may change. */
export function* timingKeys(delta: Delta): Generator<Key> {
  if (delta.timings) yield { kind: TIMING_PLACES, id: TIMING_PLACES_ID }
  for (const [at, place] of timingsIn(delta)) {
    for (const resolution of RESOLUTIONS) {
      yield { kind: TIMINGS, id: countsId(resolution, at, place) }
      yield { kind: TIMINGS, id: countsId(resolution, at, restOf(place)) }
      yield { kind: QUEUE_TIMINGS, id: countsId(resolution, at, queueOf(place)) }
    }
  }
}

/** Sums up the deltas before it writes a record, because all deltas of a second change the same ones. */
export class TimingFold {
  readonly #bodyOf: <T>(kind: string, id: string) => T | undefined
  readonly #sums = new Map<string, Sum>()
  #places: Record<string, number> | undefined
  #isNew = false

  constructor(bodyOf: <T>(kind: string, id: string) => T | undefined) {
    this.#bodyOf = bodyOf
  }

  add(delta: Delta): void {
    for (const [at, place, timings] of timingsIn(delta)) {
      const own = this.#placeFor(place, at)
      for (const resolution of RESOLUTIONS) {
        this.#sum({ kind: TIMINGS, id: countsId(resolution, at, own) }, timings)
        this.#sum({ kind: QUEUE_TIMINGS, id: countsId(resolution, at, queueOf(place)) }, timings)
      }
    }
  }

  *records(): Generator<Key & { readonly body: unknown }> {
    if (this.#isNew) yield { kind: TIMING_PLACES, id: TIMING_PLACES_ID, body: this.#places }
    for (const { key, ...sum } of this.#sums.values()) {
      const { slowest, retried, ...histograms } = timingsOf(sum) ?? {}
      yield { ...key, body: key.kind === TIMINGS ? present({ ...histograms, slowest, retried }) : histograms }
    }
  }

  #placeFor(place: string, at: number): string {
    this.#places ??= tally(this.#bodyOf<Record<string, number>>(TIMING_PLACES, TIMING_PLACES_ID))
    const hour = Math.floor(at / RESOLUTION_MS['1h']) * RESOLUTION_MS['1h']
    const known = this.#places[place]
    if (known === undefined && Object.keys(this.#places).length >= TIMING_PLACES_MAX) return restOf(place)
    if (known === undefined || known < hour) {
      this.#places[place] = hour
      this.#isNew = true
    }
    return place
  }

  #sum(key: Key, timings: Timings): void {
    const name = `${key.kind} ${key.id}`
    let sum = this.#sums.get(name)
    if (!sum) {
      sum = { key, ...noTimings() }
      addTimings(sum, this.#bodyOf<Timings>(key.kind, key.id) ?? {})
      this.#sums.set(name, sum)
    }
    addTimings(sum, timings)
  }
}

interface Sum extends TimingSum {
  readonly key: Key
}
