import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'

interface Identified {
  readonly id: string
}

export interface SteadyRows<Row> {
  readonly rows: readonly Row[]
  /** The number of new rows that are not shown yet. */
  readonly fresh: number
  readonly showFresh: () => void
}

/**
 * Rows that keep their place: shown rows are updated in place, and new rows wait until the user asks for them.
 */
export function useSteadyRows<Row extends Identified>(
  latest: readonly Row[],
  isFirstPage: boolean,
  isStale: boolean,
): SteadyRows<Row> {
  const shown = useRef<readonly Row[]>([])
  const asked = useSignal(0)
  const answered = useRef(-1)
  const isAsked = answered.current !== asked.value
  if (isAsked || !isFirstPage || shown.current.length === 0) {
    answered.current = asked.value
    // The rows of another filter are shown until those of this one arrive; they don't keep their place.
    shown.current = isStale ? [] : latest
    return { rows: latest, fresh: 0, showFresh: () => {} }
  }
  const byId = new Map(latest.map(row => [row.id, row]))
  const top = shown.current[0]!.id
  // Ids begin with their time, so a new row sorts after the first shown one.
  const fresh = latest.filter(({ id }) => id > top && !shown.current.some(row => row.id === id))
  const oldest = latest.at(-1)?.id ?? ''
  // A row that left the list while the rest of its page stayed no longer matches the filter.
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
