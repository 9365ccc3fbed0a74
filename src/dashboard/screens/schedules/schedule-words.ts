import type { Missed, Overlap } from '../../../core/schedule/schedule.js'
import { parseDuration } from '../../../core/values/duration.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { duration } from '../../data/format.js'
import { cronWords } from './cron-words.js'

type When = Pick<ScheduleView, 'cron' | 'every'>

/** When it happens, in words where there are honest ones; undefined leaves the expression to speak. */
export function whenWords({ cron, every }: When): string | undefined {
  if (cron !== undefined) return cronWords(cron)
  const ms = every === undefined ? undefined : typeof every === 'number' ? every : parseDuration(every)
  return ms === undefined ? undefined : `Every ${duration(ms)}`
}

/** As it was written. */
export const expressionOf = ({ cron, every }: When): string => cron ?? `every ${every}`

/** What it makes: the name of a job, or the call. */
export function targetOf({ job, payload }: Pick<ScheduleView, 'job' | 'payload'>): string {
  if (job !== 'http') return job
  const { method, url, body } = (payload ?? {}) as { method?: unknown; url?: unknown; body?: unknown }
  if (typeof url !== 'string') return job
  const verb = typeof method === 'string' ? method.toUpperCase() : body === undefined ? 'GET' : 'POST'
  return `${verb} ${url}`
}

export const OVERLAPS: readonly { readonly value: Overlap; readonly text: string; readonly means: string }[] = [
  { value: 'skip', text: 'Skip', means: 'While the one before is not over, a run is left out.' },
  { value: 'queue', text: 'Queue', means: 'While the one before is not over, one run waits for it.' },
  { value: 'allow', text: 'Allow', means: 'Runs start on time, however many are not over.' },
]

export type MissedChoice = 'run-once' | 'skip' | 'all'

export const MISSED: readonly { readonly value: MissedChoice; readonly text: string; readonly means: string }[] = [
  { value: 'run-once', text: 'Run once', means: 'Runs that nobody was there for are made up by one.' },
  { value: 'skip', text: 'Skip', means: 'Runs that nobody was there for are over.' },
  { value: 'all', text: 'Run all', means: 'Runs that nobody was there for are all made up, up to a number.' },
]

export const missedChoice = (missed: Missed): MissedChoice => (typeof missed === 'object' ? 'all' : missed)

export function missedText(missed: Missed): string {
  return typeof missed === 'object' ? `all, up to ${missed.all}` : missed === 'skip' ? 'skip' : 'run once'
}
