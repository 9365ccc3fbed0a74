import type { TurnState } from '../../../core/partition/turn.js'

// The state of a partition or a queue: `openAt` has a column, and the rest is JSON.

export function stateOf(openAt: number | null, body: string | null): TurnState {
  const others = body === null ? {} : (JSON.parse(body) as TurnState)
  return openAt === null ? others : { ...others, openAt }
}

/** The state without `openAt`, which has a column; null if nothing else is known. */
export function paceOf({ openAt: _, ...pace }: TurnState = {}): string | null {
  return Object.keys(pace).length === 0 ? null : JSON.stringify(pace)
}
