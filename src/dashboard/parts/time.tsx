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

/** `in 4m 10s`, updated every second on the server's clock: every place that names the time of a run shows the same. */
export function Countdown({ at }: { readonly at: number }) {
  const left = at - now.value
  return (
    <time class="nowrap" dateTime={new Date(at).toISOString()} data-tip={exactTimes(at, now.peek())}>
      {left < 1_000 ? 'now' : `in ${duration(Math.floor(left / 1_000) * 1_000)}`}
    </time>
  )
}

/** The time since a moment, updated every second. */
export function Elapsed({ since }: { readonly since: string | number }) {
  const from = typeof since === 'number' ? since : Date.parse(since)
  const seconds = Math.max(0, Math.floor((now.value - from) / 1_000))
  return <span class="nowrap">{seconds === 0 ? 'under 1s' : duration(seconds * 1_000)}</span>
}
