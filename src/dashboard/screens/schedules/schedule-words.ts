import type { Missed, Overlap } from '../../../core/schedule/schedule.js'
import { parseDuration } from '../../../core/values/duration.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { duration } from '../../data/format.js'
import { cronWords } from './cron-words.js'

type When = Pick<ScheduleView, 'cron' | 'every'>

/** The timing in words; undefined for unusual expressions. */
export function whenWords({ cron, every }: When): string | undefined {
  if (cron !== undefined) return cronWords(cron)
  const ms = every === undefined ? undefined : typeof every === 'number' ? every : parseDuration(every)
  return ms === undefined ? undefined : `Every ${duration(ms)}`
}

/** The expression as entered. */
export const expressionOf = ({ cron, every }: When): string => cron ?? `every ${every}`

export const OVERLAPS: readonly { readonly value: Overlap; readonly text: string; readonly means: string }[] = [
  { value: 'skip', text: 'Skip', means: 'A run is skipped while the previous one is active.' },
  { value: 'queue', text: 'Queue', means: 'One run waits while the previous one is active.' },
  { value: 'allow', text: 'Allow', means: 'Runs start on time, regardless of active ones.' },
]

export type MissedChoice = 'run-once' | 'skip' | 'all'

export const MISSED: readonly { readonly value: MissedChoice; readonly text: string; readonly means: string }[] = [
  { value: 'run-once', text: 'Run once', means: 'Missed runs are replaced by one run.' },
  { value: 'skip', text: 'Skip', means: 'Missed runs are dropped.' },
  { value: 'all', text: 'Run all', means: 'All missed runs are caught up, up to a maximum.' },
]

export const missedChoice = (missed: Missed): MissedChoice => (typeof missed === 'object' ? 'all' : missed)

export function missedText(missed: Missed): string {
  return typeof missed === 'object' ? `all, up to ${missed.all}` : missed === 'skip' ? 'skip' : 'run once'
}
