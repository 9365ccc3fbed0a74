import { useEffect, useRef } from 'preact/hooks'
import type { LogView } from '../../../engine/jobs/log-view.js'
import { plural } from '../../data/format.js'
import { useTail } from '../../data/tail.js'
import { Json } from '../../parts/json.js'

/** The log of a run that has ended. */
export function Log({ lines }: { readonly lines: readonly LogView[] }) {
  if (lines.length === 0) return null
  return (
    <>
      <h3>Log</h3>
      <Lines lines={lines} />
    </>
  )
}

interface LiveLogProps {
  readonly id: string
  readonly run: number
  /** What is stored, until the stream has sent its first line. */
  readonly stored: readonly LogView[]
}

/** Within this distance of its end, the log follows new lines. */
const FOLLOWS_WITHIN_PIXELS = 24

/** The log of the current run. It follows new lines unless the reader has scrolled up. */
export function LiveLog({ id, run, stored }: LiveLogProps) {
  const lines = useTail(id, run) ?? stored
  const box = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines.length])
  if (lines.length === 0)
    return <p class="log-none muted">No log lines yet. They appear here as the handler writes them.</p>
  return (
    <section class="log-live" aria-label="Live log">
      <h3>
        Log <span class="muted">{plural(lines.length, 'line')}, live</span>
      </h3>
      <div
        class="log-tail"
        role="log"
        aria-label="Log of the current run"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
        tabIndex={0}
        ref={box}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          follows.current = scrollHeight - scrollTop - clientHeight < FOLLOWS_WITHIN_PIXELS
        }}
      >
        <Lines lines={lines} />
      </div>
    </section>
  )
}

function Lines({ lines }: { readonly lines: readonly LogView[] }) {
  return (
    <ol class="log-lines">
      {lines.map((line, i) => (
        <li key={i}>
          <time class="muted mono" dateTime={line.at}>
            {line.at.slice(11, 23)}
          </time>
          <div>
            <span>{line.message}</span>
            {line.data !== undefined && <Json value={line.data} what="Log data" depth={1} />}
          </div>
        </li>
      ))}
    </ol>
  )
}
