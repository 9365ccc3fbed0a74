import type { Host } from './host.js'

/** An enqueue as its client saw it. `call` is on the job as a tag, so that the row names the call that made it. */
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

/** Without an answer, or `unknown`: it may have been done or not. `undone`: it was said not to have been done. */
export type Answer =
  | { readonly kind: 'ok'; readonly id: string; readonly status: 'created' | 'existing' }
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
  /** Lines that it logged without being refused. */
  logged: number
}

/** Something done by hand: a cancel, a retry, a pause of a queue. */
export interface Manual {
  readonly act: string
  readonly target: string
  readonly by: string
  readonly at: number
  /** Of the job when it was asked for. */
  readonly generation?: number
  /** `run`: how far the job had come by the answer. */
  answer?: { readonly kind: 'ok' | 'refused' | 'undone' | 'unknown'; readonly at: number; readonly run?: number }
}

export interface Effect {
  runs: number
  readonly returned: unknown[]
}

/** What clients and handlers saw, written outside of the system and joined with the store at the end. */
export class Ledger {
  readonly invocations: Invocation[] = []
  readonly starts: Start[] = []
  readonly manuals: Manual[] = []
  /** How often each effect was carried out, and what `job.once` returned, by job and name. */
  readonly effects = new Map<string, Effect>()

  startsOf(id: string): Start[] {
    return this.starts.filter(start => start.id === id)
  }

  /** Ids that a client knows this planned job by. */
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
