import { ChronosError, type ErrorCode } from '../core/values/error.js'
import { present } from '../core/values/present.js'

/** Exit codes. Scripts depend on them. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  conflict: 5,
  unreachable: 6,
  jobDied: 7,
  checkFailed: 8,
} as const

export const EXIT_OF: Readonly<Record<ErrorCode, number>> = {
  INVALID_OPTION: EXIT.usage,
  INVALID_DURATION: EXIT.usage,
  INVALID_POLICY: EXIT.usage,
  INVALID_PAYLOAD: EXIT.usage,
  PAYLOAD_TOO_LARGE: EXIT.usage,
  INVALID_RESULT: EXIT.unexpected,
  UNKNOWN_JOB: EXIT.notFound,
  KEY_CONFLICT: EXIT.conflict,
  VERSION_CONFLICT: EXIT.conflict,
  NOT_FOUND: EXIT.notFound,
  NOT_ALLOWED: EXIT.notAllowed,
  TOO_MANY_MATCHES: EXIT.conflict,
  CLOSED: EXIT.unexpected,
  LEASE_LOST: EXIT.conflict,
  EFFECT_UNKNOWN: EXIT.conflict,
  ROLLED_BACK: 1,
  TIMED_OUT: EXIT.unexpected,
  JOB_DEAD: EXIT.jobDied,
  JOB_CANCELLED: EXIT.jobDied,
  OUTCOME_UNKNOWN: EXIT.jobDied,
  CANCELLED: EXIT.unexpected,
  STOPPED: EXIT.unexpected,
  STORE_UNAVAILABLE: EXIT.unreachable,
  STORE_UNKNOWN: EXIT.unreachable,
  STORE_FULL: EXIT.unreachable,
  STORE_READ_ONLY: EXIT.unreachable,
  STORE_NOT_A_DATABASE: EXIT.unreachable,
  STORE_CORRUPT: EXIT.unreachable,
  STORE_NEWER: EXIT.unreachable,
  STORE_NOT_SUPPORTED: EXIT.unreachable,
  SIGNATURE_MISSING: EXIT.notAllowed,
  SIGNATURE_INVALID: EXIT.notAllowed,
  SIGNATURE_EXPIRED: EXIT.notAllowed,
}

/** An error in what the user gave. */
export function usage(words: string, cause?: unknown): ChronosError {
  return new ChronosError('INVALID_OPTION', words, present({ cause }))
}
