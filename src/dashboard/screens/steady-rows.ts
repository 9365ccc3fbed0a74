import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'

interface Identified {
  readonly id: string
}

export interface SteadyRows<Row> {
  readonly rows: readonly Row[]
  /** How many are newer than all that is shown. */
  readonly fresh: number
  readonly showFresh: () => void
}

/**
 * Rows that stay where they are while people read them: what is shown changes in place, and what is new waits above
 * until somebody asks for it.
 */
export function useSteadyRows<Row extends Identified>(latest: readonly Row[], isFirstPage: boolean): SteadyRows<Row> {
  const shown = useRef<readonly Row[]>([])
  const asked = useSignal(0)
  const answered = useRef(-1)
  const isAsked = answered.current !== asked.value
  if (isAsked || !isFirstPage || shown.current.length === 0) {
    answered.current = asked.value
    shown.current = latest
    return { rows: latest, fresh: 0, showFresh: () => {} }
  }
  const byId = new Map(latest.map(row => [row.id, row]))
  const top = shown.current[0]!.id
  // Ids begin with their time: what sorts after the first one shown has come since.
  const fresh = latest.filter(({ id }) => id > top && !shown.current.some(row => row.id === id))
  const oldest = latest.at(-1)?.id ?? ''
  // What has left the list while the rest of its page is still there no longer fits the filter.
  const kept = shown.current.filter(({ id }) => byId.has(id) || (fresh.length > 0 && id < oldest))
  shown.current = kept.map(row => byId.get(row.id) ?? row)
  if (shown.current.length === 0) {
    shown.current = latest
    return { rows: latest, fresh: 0, showFresh: () => {} }
  }
  return {
    rows: shown.current,
    fresh: fresh.length,
    showFresh: () => {
      asked.value++
    },
  }
}
