import { ChronosError, shown } from '../../../core/values/error.js'

/** What a process uses connections for. */
export interface Shares {
  /** Claims, leases and results. */
  readonly control: number
  /** Everything else. */
  readonly work: number
  /** One connection for LISTEN; without it, workers poll. */
  readonly isListening: boolean
  /** One connection for the thread that renews leases while the event loop is blocked. */
  readonly isGuarded: boolean
}

/** The most that a process uses. */
export const CONNECTIONS_MAX = 9
/** Calls must not wait for lease renewals, or the other way round. */
const CONNECTIONS_MIN = 2

/** Divides the connections of a process. With few of them, the ones that only save time are left out first. */
export function sharesOf(max: unknown = CONNECTIONS_MAX): Shares {
  if (typeof max !== 'number' || !Number.isInteger(max) || max < CONNECTIONS_MIN) {
    throw new ChronosError(
      'INVALID_OPTION',
      `connections.max: expected a whole number of at least ${CONNECTIONS_MIN}, got ${shown(max)}; ` +
        'one connection renews leases and stores results, another one is for all other calls',
    )
  }
  const isListening = max >= 3
  const isGuarded = max >= 4
  const pooled = Math.min(max, CONNECTIONS_MAX) - Number(isListening) - Number(isGuarded)
  const control = Math.floor(pooled / 2)
  return { control, work: pooled - control, isListening, isGuarded }
}
