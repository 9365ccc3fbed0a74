import { withNote } from '../../core/failure/outcome.js'
import type { Clock } from '../../core/values/clock.js'
import { PermanentError, shown } from '../../core/values/error.js'
import type { JobDefinition } from '../client/definition.js'
import type { Attempt, Place } from '../worker/attempt.js'

/** The result of a job, as its own handler would return or throw it. */
type Answer = (attempt: Attempt) => unknown

/** The job can't be put into a batch: its run fails with this error. */
export class Fault {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/**
 * Jobs that share one call of their handler. Each of them has its own lease, timeout, dependency and outcome; the call
 * starts when every member has arrived or left.
 */
export class Batch implements Place {
  readonly #clock: Clock
  readonly #members: Set<Attempt>
  /** Those whose payload is ready. */
  readonly #arrived = new Map<Attempt, unknown>()
  readonly #fault: Fault | undefined
  readonly #isComplete: Promise<void>
  #complete = (): void => {}
  #call: Promise<Answer> | undefined

  constructor(clock: Clock, members: readonly Attempt[], fault?: Fault) {
    this.#clock = clock
    this.#members = new Set(members)
    this.#fault = fault
    this.#isComplete = new Promise(resolve => {
      this.#complete = resolve
    })
  }

  /** The result of this job, after the call for all of them. */
  async run(attempt: Attempt, input: unknown): Promise<unknown> {
    if (this.#fault) throw this.#fault.error
    this.#arrived.set(attempt, input)
    this.#look()
    await this.#until(this.#isComplete)
    // The first to get here makes the call, as its handler; for the others nothing happens until it returns.
    const isFirst = this.#call === undefined
    this.#call ??= this.#callHandler(attempt.definition)
    const answer = await (isFirst ? this.#call : this.#until(this.#call))
    return answer(attempt)
  }

  mates(): Iterable<Attempt> {
    return this.#members
  }

  /** If it has not arrived yet, the others need not wait for it. */
  free(attempt: Attempt): void {
    this.#members.delete(attempt)
    this.#arrived.delete(attempt)
    this.#look()
  }

  #look(): void {
    if (this.#arrived.size === this.#members.size) this.#complete()
  }

  async #callHandler({ handler }: JobDefinition): Promise<Answer> {
    const jobs = [...this.#arrived.keys()]
    // All of them have ended meanwhile.
    if (jobs.length === 0) return () => undefined
    const places = new Map(jobs.map((attempt, place) => [attempt, place]))
    const note = (attempt: Attempt): void => noteItem(attempt, places.get(attempt)!, jobs.length)
    try {
      const payloads = [...this.#arrived.values()]
      const results = checked(await handler(payloads as never, jobs as never), jobs.length)
      return attempt => {
        const result = results?.[places.get(attempt)!]
        if (!(result instanceof Error)) return result
        note(attempt)
        throw result
      }
    } catch (thrown) {
      jobs.forEach(note)
      throw thrown
    }
  }

  /** A virtual clock is not held up by a job that waits for the others. */
  #until<T>(promise: Promise<T>): Promise<T> {
    return this.#clock.outstanding?.until(promise) ?? promise
  }
}

/** Stored with the failed run. */
function noteItem(attempt: Attempt, place: number, size: number): void {
  if (size > 1 && !attempt.over) attempt.noted = withNote(attempt.noted, `item ${place + 1} of ${size}`)
}

function checked(results: unknown, size: number): readonly unknown[] | undefined {
  if (results === undefined || (Array.isArray(results) && results.length === size)) return results
  const got = Array.isArray(results) ? `${results.length} results` : shown(results)
  // Another attempt would repeat the work and the mistake.
  throw new PermanentError(
    `the batch handler returned ${got} for ${size} jobs; return an array with a result or an Error for each, or nothing`,
  )
}
