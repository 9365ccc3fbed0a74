import { now } from '../data/clock.js'
import { clockText, exactTimes, timeMode } from '../data/format.js'
import { Countdown } from './time.js'

/** `in 4m 10s (2026-…)` or the time alone. */
const MOMENT = /((?:in [\dmshd. ]+ \()?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/
const DAY_MS = 86_400_000

/** Times within a sentence are local, and the time until then is counted down; the tooltip has every format. */
export function Words({ text }: { readonly text: string }) {
  return <>{text.split(MOMENT).map((part, i) => (i % 2 === 0 ? part : <Said key={i} text={part} />))}</>
}

function Said({ text }: { readonly text: string }) {
  const at = Date.parse(text.replace(/^.*\(/, ''))
  if (!text.includes('(')) return <Moment at={at} />
  return (
    <>
      <Countdown at={at} /> (<Moment at={at} />
    </>
  )
}

function Moment({ at }: { readonly at: number }) {
  const isNear = Math.abs(at - now.peek()) < DAY_MS / 2
  const written = clockText(at, timeMode.value === 'utc' ? 'utc' : 'local')
  return (
    <time class="nowrap" dateTime={new Date(at).toISOString()} data-tip={exactTimes(at, now.peek())}>
      {isNear ? written.slice(11) : written}
    </time>
  )
}
