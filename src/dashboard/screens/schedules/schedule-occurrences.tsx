import type { OccurrenceView } from '../../../core/schedule/occurrences.js'
import { parseDuration } from '../../../core/values/duration.js'
import { now } from '../../data/clock.js'
import { age, duration, exactTimes, timeMode } from '../../data/format.js'
import { Badge } from '../../parts/badge.js'
import { Time } from '../../parts/time.js'
import './schedule.css'

/** A countdown. The tooltip has the exact time. */
export function Countdown({ at, none = '–' }: { readonly at: string | undefined; readonly none?: string }) {
  if (at === undefined || timeMode.value !== 'relative') return <Time at={at} none={none} />
  const ms = Date.parse(at)
  return (
    <time class="nowrap" dateTime={at} data-tip={exactTimes(ms, now.peek())}>
      {ms - now.value < 1_000 ? 'now' : `in ${age(ms - now.value)}`}
    </time>
  )
}

const SHOWN = 10
/** Enough to reach the next clock change of a daily schedule. */
const FAR = 400
const DAY_NAMES = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** The number of occurrences to request: more for daily schedules in zones with clock changes. */
export function reachOf({ cron, timeZone }: { readonly cron?: string | undefined; readonly timeZone: string }): number {
  const fields = cron?.trim().split(/\s+/) ?? []
  const isDaily = fields.length >= 5 && !fields.slice(0, -3).some(field => /[*/?-]/.test(field))
  return isDaily && timeZone !== 'UTC' ? FAR : SHOWN
}

interface NextRunsProps {
  readonly occurrences: readonly OccurrenceView[]
  readonly timeZone: string
}

/** The upcoming occurrences in the time zone of the schedule, with clock changes. */
export function NextRuns({ occurrences, timeZone }: NextRunsProps) {
  const usual = usualTime(occurrences)
  const shown = occurrences.slice(0, SHOWN)
  // The next clock change, even if it is months away.
  const change = occurrences.slice(SHOWN).find(({ clocks }) => clocks !== undefined)
  return (
    <ol class="schedule-occurrences" aria-label={`Upcoming runs, ${timeZone}`}>
      {shown.map(occurrence => (
        <Occurrence key={occurrence.at} occurrence={occurrence} usual={usual} />
      ))}
      {change && (
        <>
          <li class="schedule-occurrences-gap muted" aria-hidden="true">
            …
          </li>
          <Occurrence occurrence={change} usual={usual} />
        </>
      )}
      {shown.length < SHOWN && <li class="muted">Then the schedule ends.</li>}
    </ol>
  )
}

function Occurrence({
  occurrence,
  usual,
}: {
  readonly occurrence: OccurrenceView
  readonly usual: string | undefined
}) {
  const [date, time] = [occurrence.local.slice(0, 10), occurrence.local.slice(11, 19)]
  const offset = /[+-]\d\d:\d\d$/.exec(occurrence.local)?.[0] ?? 'UTC'
  return (
    <li>
      <span class="schedule-occurrence-day muted">{DAY_NAMES[new Date(`${date}T12:00:00Z`).getUTCDay()]}</span>
      <span class="nowrap">{date}</span>
      <span class="strong">{time}</span>
      <span class="schedule-occurrence-offset muted">{offset}</span>
      <span class="schedule-occurrence-in muted">
        <Time at={occurrence.at} />
      </span>
      {occurrence.clocks !== undefined && (
        <span class="schedule-occurrence-clocks">
          <Badge hue="retry" icon="clock">
            {clocksWords(occurrence.clocks, time, usual)}
          </Badge>
        </span>
      )}
    </li>
  )
}

function clocksWords(clocks: string, time: string, usual: string | undefined): string {
  const ms = parseDuration(clocks.replace(/^[+-]/, ''))
  const words = `the clocks go ${clocks.startsWith('-') ? 'back' : 'forward'} ${ms === undefined ? clocks : duration(ms)}`
  return usual === undefined || usual === time ? words : `${words}: ${usual.slice(0, 5)} does not exist on this day`
}

/** The common time of day; undefined if occurrences differ. */
function usualTime(occurrences: readonly OccurrenceView[]): string | undefined {
  const times = new Set(
    occurrences.filter(({ clocks }) => clocks === undefined).map(({ local }) => local.slice(11, 19)),
  )
  return times.size === 1 && occurrences.length > 2 ? [...times][0] : undefined
}
