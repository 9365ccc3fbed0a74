import type { Policy } from '../../core/policy/policy.js'
import type { ClaimRequest } from '../../store/store.js'
import type { JobDefinition } from './definition.js'
import type { Policies } from './policies.js'

/** The policies of the jobs that a worker defines, and which of these jobs may begin with their claim. */
export type ClaimTerms = Required<Pick<ClaimRequest, 'policyIds' | 'begins'>>

/** The terms of a worker's claims, which change only with its policies. */
export class KnownTerms {
  readonly #policies: Policies
  readonly #queues: readonly string[]
  readonly #definitions: readonly JobDefinition[]
  readonly #isAdmitting: boolean
  #known: { readonly version: number; readonly terms: ClaimTerms } | undefined

  /**
   * Without the built-in jobs, which get their policy when they are enqueued. `isAdmitting`: the worker decides after a
   * claim when a job may start.
   */
  constructor(
    policies: Policies,
    queues: readonly string[],
    definitions: readonly JobDefinition[],
    isAdmitting: boolean,
  ) {
    this.#policies = policies
    this.#queues = queues
    this.#definitions = definitions
    this.#isAdmitting = isAdmitting
  }

  get(): ClaimTerms | Promise<ClaimTerms> {
    const known = this.#known
    return known?.version === this.#policies.version ? known.terms : this.#publish()
  }

  async #publish(): Promise<ClaimTerms> {
    const policies = this.#policies
    const { version } = policies
    const policyIds: Record<string, string> = {}
    const begins: string[] = []
    for (const queue of this.#queues) {
      for (const definition of this.#definitions) {
        const key = `${queue} ${definition.name}`
        if (this.#mayBegin(definition, policies.base(definition, queue).policy)) begins.push(key)
        policyIds[key] = await policies.publish(definition, queue)
      }
    }
    const terms = { policyIds, begins }
    this.#known = { version, terms }
    return terms
  }

  /** Every run is the last permitted one, and nothing decides between the claim and the start whether it may start. */
  #mayBegin(job: JobDefinition, { maxRetries, crashes, circuit, budget }: Policy): boolean {
    const isOwn = job.thread === undefined && job.batch === undefined && !this.#isAdmitting
    return maxRetries === 0 && crashes !== 'forgive' && job.delivery === 'at-least-once' && isOwn && !circuit && !budget
  }
}
