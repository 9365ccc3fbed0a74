import type { StoredError } from '../core/job/job.js'
import type { Decision, Transition } from '../core/job/lifecycle.js'
import { type RunFacts, successSentence } from '../core/job/sentence.js'
import { decodeDecision, encodeDecision } from './decision.js'

// The column formats that all SQL stores share.

// ---------------------------------------------------------------- text

const ESCAPED = '\u0001'

/**
 * Encodes text for a database. Databases store UTF-8, which has no lone surrogates, and truncate or reject text that
 * contains NUL. Such text is stored as JSON after a marker character, and so is text that starts with the marker.
 */
export function toText(text: string): string {
  // Tokens, names and queues often repeat in a row.
  if (text === lastPlain) return text
  const plain = !text.includes('\0') && (text as WellFormed).isWellFormed() && text.charCodeAt(0) !== 1
  if (!plain) return ESCAPED + JSON.stringify(text)
  if (text.length <= SHORT) lastPlain = text
  return text
}

const SHORT = 64
let lastPlain = ''

/** Node has this method since version 20; TypeScript's library has it since ES2024. */
type WellFormed = string & { isWellFormed(): boolean }

export function fromText(text: string): string {
  return text.charCodeAt(0) === 1 ? (JSON.parse(text.slice(1)) as string) : text
}

/** Compares texts in the order that databases use: by the UTF-8 bytes of what `toText` writes. */
export function byBytes(a: string, b: string): number {
  if (a === b) return 0
  if (PLAIN.test(a) && PLAIN.test(b)) return a < b ? -1 : 1
  return Buffer.compare(Buffer.from(toText(a)), Buffer.from(toText(b)))
}

/** In such texts, code units and bytes have the same order. */
const PLAIN = /^[ -\ud7ff]*$/

export function toTextOrNull(text: string | undefined): string | null {
  return text === undefined ? null : toText(text)
}

export function toJson(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** During an outage of a dependency, many jobs in a row fail with the same error. */
let lastError: StoredError | undefined
let lastErrorJson = ''

export function toErrorJson(error: StoredError | undefined): string | null {
  if (error === undefined) return null
  if (lastError === undefined || !isSameError(error, lastError)) {
    lastErrorJson = JSON.stringify(error)
    // The caller also passes the error to failure listeners, which may change it.
    lastError = { ...error }
  }
  return lastErrorJson
}

function isSameError(a: StoredError, b: StoredError): boolean {
  return (
    a.message === b.message && a.stack === b.stack && a.name === b.name && a.code === b.code && a.status === b.status
  )
}

/**
 * Stores one JSON text per line, with a line break at both ends, so that SQL can match a whole tag and never part of
 * one.
 */
export function toTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : `\n${tags.map(tag => JSON.stringify(tag)).join('\n')}\n`
}

export function tagLine(tag: string): string {
  return `\n${JSON.stringify(tag)}\n`
}

export function fromTags(text: string | null): readonly string[] {
  return text === null ? [] : (JSON.parse(`[${text.slice(1, -1).replaceAll('\n', ',')}]`) as string[])
}

// ---------------------------------------------------------------- counters

export type Counters = Pick<
  Transition,
  'snoozes' | 'releases' | 'losses' | 'strikes' | 'suspect' | 'backoffMs' | 'failedAt'
>

const NO_COUNTERS: Counters = { snoozes: 0, releases: 0, losses: 0, strikes: 0, suspect: false }

/** Returns NULL while every counter is zero and there was no failure, as for nearly every job. */
export function toCounters(counters: Counters): string | null {
  const { snoozes, releases, losses, strikes, suspect, backoffMs, failedAt } = counters
  const isZero = snoozes + releases + losses + strikes === 0 && !suspect
  if (isZero && backoffMs === undefined && failedAt === undefined) return null
  return JSON.stringify({ snoozes, releases, losses, strikes, suspect, backoffMs, failedAt })
}

export function fromCounters(text: string | null): Counters {
  if (text === null) return NO_COUNTERS
  if (text !== lastCountersText) {
    lastCounters = JSON.parse(text) as Counters
    lastCountersText = text
  }
  return lastCounters
}

/** Jobs that failed in the same moment have the same counters, and are claimed one after the other. */
let lastCounters = NO_COUNTERS
let lastCountersText = ''

// ---------------------------------------------------------------- decisions

/** Returns NULL for the usual decision of a success, because it can be derived from the attempt. */
export function toDecision(decision: Decision, attempt: number, run?: Omit<RunFacts, 'attempt'>): string | null {
  const { action, why, traceId } = decision
  if (action === 'succeed' && traceId === undefined && why === successSentence(attempt)) return null
  return (run && encodeDecision(decision, { attempt, ...run })) ?? JSON.stringify(decision)
}

/** Reads every form that was ever written: codes, JSON with its sentence, and NULL. */
export function fromDecision(text: string | null, attempt: number, run?: Omit<RunFacts, 'attempt'>): Decision {
  if (text === null) return { action: 'succeed', why: successSentence(attempt) }
  const isCoded = text.charCodeAt(0) === CODED
  return isCoded ? decodeDecision(text, { attempt, status: 'failed', ...run }) : (JSON.parse(text) as Decision)
}

const CODED = '['.charCodeAt(0)
