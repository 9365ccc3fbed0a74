import { now } from '../data/clock.js'
import { clockText, duration, exactTimes, relative, timeMode } from '../data/format.js'

export interface TimeProps {
  /** RFC 3339, or epoch milliseconds. */
  readonly at: string | number | undefined
  /** The text if there is no time. */
  readonly none?: string | undefined
}

/** A time in the chosen format. The tooltip has every format. */
export function Time({ at, none = '–' }: TimeProps) {
  if (at === undefined) return <span class="muted">{none}</span>
  const ms = typeof at === 'number' ? at : Date.parse(at)
  const mode = timeMode.value
  const text = mode === 'relative' ? relative(ms, now.value) : clockText(ms, mode)
  return (
    <time class="nowrap" dateTime={new Date(ms).toISOString()} data-tip={exactTimes(ms, now.peek())}>
      {text}
    </time>
  )
}

/** The time since a moment, updated every second. */
export function Elapsed({ since }: { readonly since: string | number }) {
  const from = typeof since === 'number' ? since : Date.parse(since)
  const seconds = Math.max(0, Math.floor((now.value - from) / 1_000))
  return <span class="nowrap">{duration(seconds * 1_000)}</span>
}
