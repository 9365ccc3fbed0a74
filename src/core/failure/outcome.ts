import type { Outcome } from '../job/lifecycle.js'
import type { Rule } from '../policy/policy.js'
import { fitsUtf8 } from '../values/json.js'
import { cleanText } from '../values/text.js'
import { classify } from './classify.js'
import { httpErrorFacts } from './http-error.js'
import { toStoredError } from './stored-error.js'
import { linksOf } from './thrown.js'

export { toStoredError } from './stored-error.js'

export const RESULT_MAX_BYTES = 1024 * 1024
const NOTE_BYTES = 1_000

/** Returned by a handler to run again later without using an attempt. */
export class Snooze {
  readonly delayMs: number
  readonly note?: string

  constructor(delayMs: number, note?: string) {
    this.delayMs = delayMs
    if (note !== undefined) this.note = note
  }
}

/** The outcome of a run whose handler threw, or rejected with, this value. */
export function failedOutcome(thrown: unknown, rules: readonly Rule[], now: number): Failed {
  const links = linksOf(thrown)
  const { kind, rule, delayMs, retryAfterMs, maybeExecuted } = classify(thrown, rules, now, links)
  const classification = delayMs === undefined ? { kind, rule } : { kind, rule, delayMs }
  // Filled field by field, because this runs for every failure.
  const outcome: Draft<Failed> = { kind: 'failed', error: toStoredError(thrown, links), classification }
  if (retryAfterMs !== undefined) outcome.retryAfterMs = retryAfterMs
  if (maybeExecuted !== undefined) outcome.maybeExecuted = maybeExecuted
  return outcome
}

type Failed = Extract<Outcome, { kind: 'failed' }>
type Draft<T> = { -readonly [Field in keyof T]: T[Field] }

/**
 * Like `failedOutcome`, for a call with a time limit of its own: if the request was sent before that limit, its
 * outcome is unknown.
 */
export function thrownOutcome(
  thrown: unknown,
  rules: readonly Rule[],
  now: number,
): Extract<Outcome, { kind: 'failed' | 'timed-out' }> {
  const call = httpErrorFacts(thrown)
  return call?.timedOut && call.maybeExecuted
    ? { kind: 'timed-out', error: toStoredError(thrown) }
    : failedOutcome(thrown, rules, now)
}

/** The note of a run whose result could not be stored. The run has done its work, so it succeeds all the same. */
export const NOT_KEPT = 'the result was not kept'

/**
 * The outcome of a run whose handler returned this value. The work is done, so a result that can't be stored changes
 * nothing.
 */
export function outcomeOf(value: unknown): Extract<Outcome, { kind: 'succeeded' | 'snoozed' }> {
  if (isSnooze(value)) {
    const { delayMs, note } = value
    return { kind: 'snoozed', delayMs, ...(typeof note === 'string' && { note: cleanText(note, NOTE_BYTES) }) }
  }
  if (value === undefined) return { kind: 'succeeded' }
  const text = jsonOf(value)
  if (text === undefined) return { kind: 'succeeded', note: `${NOT_KEPT}: it is not JSON` }
  if (!fitsUtf8(text, RESULT_MAX_BYTES)) return { kind: 'succeeded', note: `${NOT_KEPT}: it is over 1 MiB` }
  return { kind: 'succeeded', result: text }
}

const LOG_BYTES = 4_000

/** A line of a run's log. Data that is not JSON, or is too long, is dropped: a log line must not fail a job. */
export function toLogText(message: unknown, data: unknown): { readonly message: string; readonly data?: string } {
  const text = typeof message === 'string' ? message : (jsonOf(message) ?? typeof message)
  const json = data === undefined ? undefined : jsonOf(data)
  const kept = json !== undefined && fitsUtf8(json, LOG_BYTES)
  return { message: cleanText(text, LOG_BYTES), ...(kept && { data: json }) }
}

/** The notes of a run, in the order in which its handler gave them; a note must not fail a job. */
export function withNote(earlier: string | undefined, note: unknown): string {
  const { message } = toLogText(note, undefined)
  return cleanText(earlier === undefined ? message : `${earlier}; ${message}`, NOTE_BYTES)
}

function isSnooze(value: unknown): value is Snooze {
  try {
    return value instanceof Snooze
  } catch {
    return false // a proxy whose trap throws
  }
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined // a cycle, a BigInt, a toJSON that throws, or too deep
  }
}
