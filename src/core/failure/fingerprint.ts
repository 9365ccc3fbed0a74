import type { EventJob } from '../job/event.js'
import type { StoredError } from '../job/job.js'
import type { FailureKind } from '../policy/policy.js'
import { ChronosError, shown } from '../values/error.js'
import { hash64 } from '../values/hash.js'
import { maskMessage } from './mask.js'

/** A group's name of the user's own making; undefined leaves it to Chronos. */
export type FingerprintFunction = (error: StoredError, job: FingerprintJob) => string | undefined

/** What such a function is told about the job. */
export type FingerprintJob = Pick<EventJob, 'id' | 'name' | 'queue' | 'tenantId' | 'key' | 'tags'>

/** A failed run, as far as it matters for which others it is equal to. */
export interface FingerprintFacts {
  /** Of the job. */
  readonly name: string
  readonly error: StoredError
  readonly kind?: FailureKind
  /** What the user calls it; stands for everything else. */
  readonly own?: string
}

export interface Fingerprint {
  readonly fingerprint: string
  /** The masked message: what a group of equal errors is called. */
  readonly title: string
}

/**
 * Which errors are one and the same: those of one job, kind, class, code and status whose messages differ only in values.
 * Where in the code it happened does not count, since every deploy moves lines.
 */
export function fingerprintOf({ name, error, kind, own }: FingerprintFacts): Fingerprint {
  const title = maskMessage(error.message) || maskMessage(error.name) || 'no message'
  if (own !== undefined) return { fingerprint: own, title }
  const identity = [name, kind ?? '', error.name, error.code ?? '', error.status ?? '', title]
  return { fingerprint: hash64(JSON.stringify(identity)), title }
}

export const FINGERPRINT_LENGTH_MAX = 64
const FINGERPRINT = /^[A-Za-z0-9:_.-]{1,64}$/

export function isFingerprint(value: unknown): value is string {
  return typeof value === 'string' && FINGERPRINT.test(value)
}

/** What Chronos itself computes looks like this; a name of the user's own must not. */
const COMPUTED = /^[0-9a-f]{16}$/

/** A name that a user gave. */
export function isOwnFingerprint(value: unknown): value is string {
  return isFingerprint(value) && !COMPUTED.test(value)
}

export function checkFingerprint(value: unknown, what: string): asserts value is string {
  if (isOwnFingerprint(value)) return
  const expected = `expected 1 to ${FINGERPRINT_LENGTH_MAX} letters, digits or : _ . - (and not 16 hex digits, which Chronos gives itself)`
  throw new ChronosError('INVALID_OPTION', `${what}: ${expected}, got ${shown(value)}`)
}
