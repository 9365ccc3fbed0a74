import type { Host } from './world/host.js'

/** An enqueue as its client saw it. `call` is a tag of the job, so that the row names the call that made it. */
export interface Invocation {
  readonly call: number
  readonly ref: number
  readonly key: string | undefined
  /** Another payload than the plan's. */
  readonly otherwise: boolean
  readonly at: number
  readonly by: string
  answer?: Answer
}

/**
 * Without a response, or with `unknown`, the call may or may not have been executed. `undone`: it was reported as not
 * executed.
 */
export type Answer =
  | { readonly kind: 'ok'; readonly id: string; readonly status: 'created' | 'existing' | 'replaced' }
  | { readonly kind: 'conflict'; readonly id: string }
  | { readonly kind: 'undone' | 'unknown' }

/** A handler that began, as the handler saw it. */
export interface Start {
  readonly id: string
  readonly ref: number
  readonly generation: number
  readonly run: number
  readonly attempt: number
  readonly by: Host
  readonly at: number
  end?: { readonly how: 'returned' | 'snoozed' | 'threw' | 'gave up'; readonly at: number }
  /** The lines that it logged without a refusal. */
  logged: number
}

/** An operator action: a cancel, a retry, a pause of a queue. */
export interface Manual {
  readonly act: string
  readonly target: string
  readonly by: string
  readonly at: number
  /** The state of the job at the time of the request. */
  readonly generation?: number
  /** `run`: the run of the job at the time of the response. */
  answer?: { readonly kind: 'ok' | 'refused' | 'undone' | 'unknown'; readonly at: number; readonly run?: number }
}

/** A webhook as its receiver saw it. */
export interface Receipt {
  /** The number of the endpoint in the plan. */
  readonly endpoint: number
  readonly messageId: string
  readonly body: string
  readonly at: number
  /** It was answered with success; the response may still have been lost. */
  readonly accepted: boolean
}

/** A job as it ended, as the store's writes say. */
export interface End {
  readonly id: string
  readonly generation: number
  readonly run: number
  readonly type: 'job.succeeded' | 'job.dead' | 'job.cancelled' | 'job.retrying'
  readonly at: number
}

export interface Effect {
  runs: number
  readonly returned: unknown[]
}

/** What clients and handlers saw, recorded outside the system and compared with the store at the end. */
export class Ledger {
  readonly invocations: Invocation[] = []
  readonly #starts = new Map<string, Start[]>()
  readonly manuals: Manual[] = []
  readonly receipts: Receipt[] = []
  readonly ends: End[] = []
  /** How often each effect was carried out, and what `job.once` returned, by job and name. */
  readonly effects = new Map<string, Effect>()

  started(start: Start): void {
    this.#starts.set(start.id, [...this.startsOf(start.id), start])
  }

  startsOf(id: string): readonly Start[] {
    return this.#starts.get(id) ?? []
  }

  /** The ids by which a client knows this planned job. */
  idOf(ref: number): string | undefined {
    for (const { ref: one, answer } of this.invocations) if (one === ref && answer?.kind === 'ok') return answer.id
    return undefined
  }

  effect(id: string, name: string): Effect {
    const key = `${id} ${name}`
    const found: Effect = this.effects.get(key) ?? { runs: 0, returned: [] }
    this.effects.set(key, found)
    return found
  }
}
