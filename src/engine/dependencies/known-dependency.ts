import type { Ask, Seen, Verdict } from '../../core/dependency/dependency.js'
import type { CircuitEntry } from './deferred-jobs.js'
import type { ProbedEntry } from './lost-probe.js'

interface Waiting {
  readonly ask: Ask
  readonly answer: (verdict: Verdict) => void
}

/** A dependency as this process knows it, and the observations that it has not written yet. */
export interface KnownDependency extends CircuitEntry, ProbedEntry {
  readonly id: string
  version: number
  /** Its record was read recently, so a job may start by it. A dependency that is not in use is read only now and then. */
  isCurrent: boolean
  unwritten: { -readonly [Count in keyof Seen]: Seen[Count] }
  why: string | undefined
  throttleMs: number
  asks: Waiting[]
  /** The last write; the next one waits for it. */
  writing: Promise<unknown>
  isAnswering: boolean
  isWriteDue: boolean
  /** On this process's clock. */
  usedAt: number
}

export const NOTHING: Seen = { ok: 0, failed: 0, first: 0, retry: 0 }

export const hasSeen = ({ ok, failed, first, retry }: Seen): boolean => ok + failed + first + retry > 0

/** The write failed, so the observations go with the next one. */
export function giveBack(entry: KnownDependency, { ok, failed, first, retry }: Seen, throttleMs: number): void {
  entry.unwritten.ok += ok
  entry.unwritten.failed += failed
  entry.unwritten.first += first
  entry.unwritten.retry += retry
  entry.throttleMs = Math.max(entry.throttleMs, throttleMs)
}
