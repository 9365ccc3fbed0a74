import type { AlertView } from '../../core/alert/alert.js'
import type { CircuitState } from '../../core/dependency/state.js'
import type { Phase, RunStatus } from '../../core/job/job.js'
import type { RedriveState } from '../../core/redrive/redrive.js'
import type { GroupState } from '../../store/fold.js'
import { type Cell, paint, type Style, type Tone } from './print.js'

/** A symbol, a word and a colour. The word is always shown: a colour or a shape alone may not be recognised. */
export interface Mark {
  readonly symbol: string
  readonly ascii: string
  readonly word: string
  readonly tone: Tone
}

export const PHASE_MARKS: Readonly<Record<Phase, Mark>> = {
  scheduled: { symbol: '◷', ascii: '@', word: 'scheduled', tone: 'calm' },
  queued: { symbol: '○', ascii: 'o', word: 'queued', tone: 'calm' },
  retrying: { symbol: '↻', ascii: '~', word: 'retrying', tone: 'warn' },
  blocked: { symbol: '‖', ascii: '=', word: 'blocked', tone: 'warn' },
  running: { symbol: '▸', ascii: '>', word: 'running', tone: 'strong' },
  succeeded: { symbol: '✓', ascii: '+', word: 'succeeded', tone: 'good' },
  dead: { symbol: '■', ascii: '#', word: 'dead', tone: 'bad' },
  cancelled: { symbol: '–', ascii: '-', word: 'cancelled', tone: 'dim' },
}

/** The outcome of a run, a current run, or the next one. */
export type RunMark = RunStatus | 'running' | 'next'

export const RUN_MARKS: Readonly<Record<RunMark, Mark>> = {
  succeeded: PHASE_MARKS.succeeded,
  failed: { symbol: '✗', ascii: 'x', word: 'failed', tone: 'bad' },
  'timed-out': { symbol: '◷', ascii: 'x', word: 'timed out', tone: 'bad' },
  lost: { symbol: '?', ascii: '?', word: 'lost', tone: 'odd' },
  snoozed: { symbol: '◌', ascii: 'z', word: 'snoozed', tone: 'calm' },
  released: { symbol: '↩', ascii: '<', word: 'released', tone: 'dim' },
  deferred: { symbol: '‖', ascii: '=', word: 'deferred', tone: 'calm' },
  cancelled: PHASE_MARKS.cancelled,
  running: PHASE_MARKS.running,
  next: { symbol: '◇', ascii: 'o', word: 'next', tone: 'warn' },
}

export const REDRIVE_MARKS: Readonly<Record<RedriveState, Mark>> = {
  canary: { symbol: '◇', ascii: 'o', word: 'canary', tone: 'warn' },
  running: PHASE_MARKS.running,
  paused: { symbol: '‖', ascii: '=', word: 'paused', tone: 'calm' },
  stopped: { symbol: '■', ascii: '#', word: 'stopped', tone: 'bad' },
  done: { symbol: '✓', ascii: '+', word: 'done', tone: 'good' },
  aborted: { symbol: '–', ascii: '-', word: 'aborted', tone: 'dim' },
}

export const GROUP_MARKS: Readonly<Record<GroupState, Mark>> = {
  open: { symbol: '■', ascii: '#', word: 'open', tone: 'bad' },
  regressed: { symbol: '↻', ascii: '~', word: 'regressed', tone: 'bad' },
  resolved: { symbol: '✓', ascii: '+', word: 'resolved', tone: 'good' },
  ignored: { symbol: '–', ascii: '-', word: 'ignored', tone: 'dim' },
}

export const CIRCUIT_MARKS: Readonly<Record<CircuitState, Mark>> = {
  closed: { symbol: '✓', ascii: '+', word: 'closed', tone: 'good' },
  open: { symbol: '✗', ascii: 'x', word: 'open', tone: 'bad' },
  'half-open': { symbol: '◌', ascii: '?', word: 'half-open', tone: 'warn' },
  ramping: { symbol: '↗', ascii: '/', word: 'ramping', tone: 'warn' },
}

export const ALERT_MARKS: Readonly<Record<AlertView['state'], Mark>> = {
  firing: { symbol: '■', ascii: '#', word: 'firing', tone: 'bad' },
  pending: { symbol: '◌', ascii: '?', word: 'pending', tone: 'warn' },
  resolved: { symbol: '✓', ascii: '+', word: 'resolved', tone: 'good' },
}

export function sign(mark: Mark, { unicode }: Style): string {
  return unicode ? mark.symbol : mark.ascii
}

export function markCell(mark: Mark, style: Style): Cell {
  return { text: `${sign(mark, style)} ${mark.word}`, tone: mark.tone }
}

export function markText(mark: Mark, style: Style): string {
  return paint(`${sign(mark, style)} ${mark.word}`, mark.tone, style)
}
