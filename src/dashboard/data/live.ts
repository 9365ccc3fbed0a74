import { computed, effect, signal } from '@preact/signals'
import type { ChangedJob, Topic } from '../../server/events/feed.js'
import { every, later, learnServerTime, serverNow } from './clock.js'
import { apiUrl } from './http.js'
import { stored } from './stored.js'

export type { Topic }

export interface Change {
  /** Without topics, anything may have changed. */
  readonly topics?: readonly Topic[]
  readonly jobs: readonly ChangedJob[]
}

export const PACES = ['live', '5', '10', '30', '60', 'paused'] as const

/** The chosen refresh mode: live, every few seconds, or paused. */
export const pace = stored('pace', PACES, 'live')

/** The state of the event stream. */
const stream = signal<'closed' | 'connecting' | 'open' | 'lost'>('closed')
const losses = signal(0)
const isHidden = signal(document.hidden)
const holds = signal(0)
/** When the server last sent something. */
export const heardAt = signal(0)
/** Incremented when the next reconnect is due. */
const attempts = signal(0)

/** After this many failed connections in a row, screens poll and the stream reconnects less often. */
const LOSSES_MAX = 2
const POLL_MS = 5_000
const RETRY_STREAM_MS = 15_000

export type LiveState = 'live' | 'polling' | 'reconnecting' | 'paused' | 'held'

/** `held`: updates stop while a row is selected or a dialog is open. */
export const isHeld = computed(() => holds.value > 0)
const isStreaming = computed(() => pace.value === 'live' && !isHidden.value && losses.value < LOSSES_MAX)
/** Whether screens refresh at all. */
export const isPaused = computed(() => pace.value === 'paused' || isHidden.value || isHeld.value)

export const liveState = computed<LiveState>(() => {
  if (pace.value === 'paused') return 'paused'
  if (isHeld.value) return 'held'
  if (pace.value !== 'live' || losses.value >= LOSSES_MAX) return 'polling'
  return stream.value === 'open' ? 'live' : 'reconnecting'
})

/** The poll interval of screens; undefined while the stream is connected. */
export const pollMs = computed(() => {
  if (pace.value === 'paused') return undefined
  if (pace.value !== 'live') return Number(pace.value) * 1_000
  return losses.value >= LOSSES_MAX ? POLL_MS : undefined
})

/** Stops updates until the returned function is called. */
export function hold(): () => void {
  holds.value++
  let isOver = false
  return () => {
    if (!isOver) holds.value--
    isOver = true
  }
}

const listeners = new Set<(change: Change) => void>()

export function onChange(listener: (change: Change) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function tell(change: Change): void {
  for (const listener of listeners) listener(change)
}

/** Records that the server has answered. */
export function heard(): void {
  heardAt.value = serverNow()
}

function connect(): () => void {
  stream.value = 'connecting'
  const source = new EventSource(apiUrl('/events'))
  let forget = (): void => {}
  source.addEventListener('hello', event => {
    learnServerTime(timeOf(JSON.parse(event.data) as { readonly at: string | number }))
    stream.value = 'open'
    losses.value = 0
    heard()
    // Anything may have changed while disconnected.
    tell({ jobs: [] })
  })
  source.addEventListener('change', event => {
    heard()
    tell(JSON.parse(event.data) as Change)
  })
  source.addEventListener('reset', () => tell({ jobs: [] }))
  source.onerror = () => {
    source.close()
    stream.value = 'lost'
    losses.value++
    forget = later(1_000, () => {
      attempts.value++
    })
  }
  return () => {
    forget()
    source.close()
    stream.value = 'closed'
  }
}

const timeOf = ({ at }: { readonly at: string | number }): number => (typeof at === 'number' ? at : Date.parse(at))

/** Connects after sign-in; the result disconnects. */
export function startLive(): () => void {
  const onVisibility = (): void => {
    isHidden.value = document.hidden
  }
  document.addEventListener('visibilitychange', onVisibility)
  const stops = [
    () => document.removeEventListener('visibilitychange', onVisibility),
    effect(() => {
      void attempts.value
      if (isStreaming.value) return connect()
      return undefined
    }),
    effect(() => {
      if (pollMs.value === undefined || isHidden.value) return undefined
      return every(pollMs.value, () => tell({ jobs: [] }))
    }),
    effect(() => {
      if (pace.value !== 'live' || losses.value < LOSSES_MAX) return undefined
      return later(RETRY_STREAM_MS, () => {
        losses.value = 0
      })
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
