import type { EventJob } from '../job/event.js'
import type { StoredError } from '../job/job.js'
import type { FailureKind } from '../policy/policy.js'
import { hash64 } from '../values/hash.js'
import { type Schema, value } from '../values/schema.js'
import { maskMessage } from './mask.js'

/** A group name chosen by the user; undefined leaves the choice to Chronos. */
export type FingerprintFunction = (error: StoredError, job: FingerprintJob) => string | undefined

/** The facts about the job that such a function gets. */
export type FingerprintJob = Pick<EventJob, 'id' | 'name' | 'queue' | 'tenantId' | 'key' | 'tags'>

/** The fields of a failed run that decide which error group it belongs to. */
export interface FingerprintFacts {
  /** The name of the job. */
  readonly name: string
  readonly error: StoredError
  readonly kind?: FailureKind
  /** The user's name for the group; it replaces every other field. */
  readonly own?: string
}

export interface Fingerprint {
  readonly fingerprint: string
  /** The masked message, which is the title of the error group. */
  readonly title: string
}

/**
 * Groups errors of the same job, kind, class, code and status whose messages differ only in values. The place in the
 * code does not count, since every deploy moves lines.
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

/** The format of computed fingerprints, which a user's own name must not have. */
const COMPUTED = /^[0-9a-f]{16}$/

/** Checks a group name that a user gave. */
export function isOwnFingerprint(value: unknown): value is string {
  return isFingerprint(value) && !COMPUTED.test(value)
}

/** A group name that a user gives. */
export const fingerprint: Schema<string> = value(
  {
    kinds: ['string'],
    expects: `1 to ${FINGERPRINT_LENGTH_MAX} letters, digits or : _ . - (and not 16 hex digits, which Chronos gives itself)`,
    json: { type: 'string', minLength: 1, maxLength: FINGERPRINT_LENGTH_MAX },
  },
  isOwnFingerprint,
)
