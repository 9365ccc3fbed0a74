import { createHash } from 'node:crypto'
import type { Job } from '../../core/job/job.js'
import { mergePolicies, type PartialPolicy, type Policy, storablePolicy } from '../../core/policy/policy.js'
import type { QueueRecord, Store } from '../../store/store.js'
import type { JobDefinition } from './definition.js'

interface Base {
  readonly id: string
  readonly policy: Policy
}

export interface PolicyLevels {
  readonly instance: PartialPolicy | undefined
  /** Set by the code that created this Chronos; run-time settings take precedence. */
  readonly queues: ReadonlyMap<string, PartialPolicy>
}

/**
 * Determines the policy of a job: its own override, its definition, its queue, the instance, in this order. The result
 * of the last three is stored by content hash, so that a sweeper or a dashboard without the handler's code knows it
 * too.
 */
export class Policies {
  readonly #levels: PolicyLevels
  readonly #store: () => Promise<Store>
  readonly #bases = new Map<string, Base>()
  readonly #published = new Set<string>()
  readonly #fetched = new Map<string, Policy>()
  #version = 0
  #queues = new Map<string, QueueRecord>()

  constructor(levels: PolicyLevels, store: () => Promise<Store>) {
    this.#levels = levels
    this.#store = store
  }

  /** Changes whenever `publish` would return another policy. */
  get version(): number {
    return this.#version
  }

  /** The same levels with the policy of one worker, which takes precedence over the instance's. */
  forWorker(worker: PartialPolicy): Policies {
    const { instance, queues } = this.#levels
    return new Policies({ queues, instance: instance ? { ...mergePolicies(worker, instance) } : worker }, this.#store)
  }

  /** Sets the run-time policies of all queues. */
  setQueues(records: readonly QueueRecord[]): void {
    const queues = new Map(records.map(record => [record.name, record]))
    const changed =
      records.some(record => !sameRetry(record, this.#queues.get(record.name))) ||
      [...this.#queues.values()].some(({ name, retry }) => retry && !queues.has(name))
    this.#queues = queues
    if (!changed) return
    this.#bases.clear()
    this.#version++
  }

  /** Sets the run-time policy of a queue that this process has changed. */
  setQueue(record: QueueRecord): void {
    this.setQueues([...new Map(this.#queues).set(record.name, record).values()])
  }

  /** The policy of a definition in a queue, without any job's override. */
  base(definition: JobDefinition | undefined, queue: string): Base {
    const cacheKey = `${queue} ${definition?.name ?? ''}`
    const cached = this.#bases.get(cacheKey)
    if (cached) return cached
    const policy = mergePolicies(
      definition?.retry,
      this.#queues.get(queue)?.retry,
      this.#levels.queues.get(queue),
      this.#levels.instance,
    )
    const base = { id: policyId(policy), policy }
    this.#bases.set(cacheKey, base)
    return base
  }

  /**
   * The id of a definition's policy in a queue, or of the queue's policy if there is no definition. The store has it
   * once this resolves.
   */
  publish(definition: JobDefinition | undefined, queue: string): string | Promise<string> {
    const { id, policy } = this.base(definition, queue)
    return this.#published.has(id) ? id : this.#put(id, policy)
  }

  /** The policy of a job whose handler this process may not have. */
  overridden(override: PartialPolicy, base: Policy): Policy {
    return mergePolicies(override, base)
  }

  async of(job: Pick<Job, 'queue' | 'policyId' | 'override'>, definition?: JobDefinition): Promise<Policy> {
    const base = definition ? this.base(definition, job.queue).policy : await this.#stored(job)
    return job.override ? this.overridden(job.override, base) : base
  }

  async #put(id: string, policy: Policy): Promise<string> {
    const store = await this.#store()
    await store.putPolicies([{ id, policy: storedText(policy) }])
    this.#published.add(id)
    return id
  }

  async #stored({ policyId, queue }: Pick<Job, 'queue' | 'policyId'>): Promise<Policy> {
    if (policyId === undefined) return this.base(undefined, queue).policy
    const cached = this.#fetched.get(policyId)
    if (cached) return cached
    const [record] = await (await this.#store()).policies([policyId])
    if (!record) return this.base(undefined, queue).policy
    const policy = JSON.parse(record.policy) as Policy
    this.#fetched.set(policyId, policy)
    return policy
  }
}

const sameRetry = (a: QueueRecord, b: QueueRecord | undefined): boolean =>
  JSON.stringify(a.retry) === JSON.stringify(b?.retry)

const storedText = (policy: Policy): string => JSON.stringify(storablePolicy(policy))

const policyId = (policy: Policy): string => createHash('sha256').update(storedText(policy)).digest('hex').slice(0, 32)
