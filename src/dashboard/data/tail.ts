import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { LogView } from '../../engine/jobs/log-view.js'
import { segment } from '../shell/router.js'
import { later } from './clock.js'
import { apiUrl } from './http.js'
import { heard, pace } from './live.js'

/** A run stores 1,000 lines and one that says that further ones were dropped. */
const LINES_MAX = 1_001
/** Lines that arrive together are drawn together. */
const DRAWN_AFTER_MS = 50

/** The log of a running job as it is written; undefined while the stream is not connected. */
export function useTail(id: string, run: number): readonly LogView[] | undefined {
  const lines = useSignal<readonly LogView[] | undefined>(undefined)
  const isLive = pace.value === 'live'
  useEffect(() => {
    lines.value = undefined
    if (!isLive) return undefined
    let arrived: LogView[] = []
    let forget: (() => void) | undefined
    const draw = (): void => {
      forget = undefined
      lines.value = [...(lines.peek() ?? []), ...arrived].slice(-LINES_MAX)
      arrived = []
    }
    // The browser reconnects by itself and continues after the last line.
    const source = new EventSource(apiUrl(`/jobs/${segment(id)}/events`))
    source.addEventListener('log', event => {
      heard()
      const { line } = JSON.parse(event.data) as { readonly line: LogView }
      if (line.run !== run) return
      arrived.push(line)
      forget ??= later(DRAWN_AFTER_MS, draw)
    })
    source.addEventListener('end', () => source.close())
    return () => {
      forget?.()
      source.close()
    }
  }, [id, run, isLive])
  return lines.value
}
