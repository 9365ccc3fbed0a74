import type { PreviewRow } from '../../core/policy/preview.js'
import { spanText } from '../timeline/span-text.js'

interface DelayTableProps {
  readonly rows: readonly PreviewRow[]
  readonly typicalMs: readonly number[]
}

const SHOWN_MAX = 40
const BAR = 120

/** Retry by retry: how long it waits, and when it starts at the earliest, on average and at the latest. */
export function DelayTable({ rows, typicalMs }: DelayTableProps) {
  const shown = rows.slice(0, SHOWN_MAX)
  const last = Math.max(1, shown.at(-1)?.totalMs[1] ?? 1)
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable without a pointer, and is no landmark
    <div class="picture picture-table delays" role="group" tabIndex={0} aria-label="Delays, retry by retry">
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Waits</th>
            <th scope="col">Starts after</th>
            <th scope="col">On average</th>
            <th scope="col" class="delays-bar">
              Window
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ retry, label, window: [lo, hi], totalMs: [min, max] }, i) => (
            <tr key={retry}>
              <td>{label}</td>
              <td class="is-number">{range(lo, hi)}</td>
              <td class="is-number">{range(min, max)}</td>
              <td class="is-number">{spanText(typicalMs[i] ?? min)}</td>
              <td class="delays-bar">
                <svg width={BAR} height="12" aria-hidden="true" focusable="false">
                  <path class="grid-line" d={`M0 6H${BAR}`} />
                  <rect
                    class="band"
                    x={place(min, last)}
                    y="2"
                    width={Math.max(3, place(max, last) - place(min, last))}
                    height="8"
                    rx="3"
                  />
                  <path class="band-drawn" d={`M${place(typicalMs[i] ?? min, last)} 1v10`} />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && (
        <p class="picture-nothing">{`${rows.length - shown.length} more retries like the last.`}</p>
      )}
      {rows.length === 0 && <p class="picture-nothing">No retries: the first failure is the last.</p>}
    </div>
  )
}

const range = (lo: number, hi: number): string => (lo === hi ? spanText(lo) : `${spanText(lo)} – ${spanText(hi)}`)

/** By the root of the time: the first retries are seconds, the last may be days. */
const place = (ms: number, last: number): number => Math.sqrt(ms / last) * (BAR - 2)
