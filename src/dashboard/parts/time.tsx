import { now } from '../data/clock.js'
import { clockText, duration, exactTimes, relative, timeMode } from '../data/format.js'

export interface TimeProps {
  /** RFC 3339, or epoch milliseconds. */
  readonly at: string | number | undefined
  /** What to say where there is none. */
  readonly none?: string | undefined
}

/** A moment: relative, local or UTC, as chosen for all; every way of writing it on hover. */
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

/** How long something took. */
export function Duration({ ms }: { readonly ms: number | undefined }) {
  return <span class="nowrap">{duration(ms)}</span>
}

/** How long something has been going on: counts on by itself. */
export function Elapsed({ since }: { readonly since: string | number }) {
  const from = typeof since === 'number' ? since : Date.parse(since)
  const seconds = Math.max(0, Math.floor((now.value - from) / 1_000))
  return <span class="nowrap">{duration(seconds * 1_000)}</span>
}
