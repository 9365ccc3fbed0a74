import type { PreviewRow } from '../../core/policy/preview.js'
import { spanText } from '../timeline/span-text.js'

interface DelayTableProps {
  readonly rows: readonly PreviewRow[]
  readonly typicalMs: readonly number[]
}

const SHOWN_MAX = 40
const BAR = 120

/** The wait before each retry, and its earliest, average and latest start. */
export function DelayTable({ rows, typicalMs }: DelayTableProps) {
  const shown = rows.slice(0, SHOWN_MAX)
  const last = Math.max(1, shown.at(-1)?.totalMs[1] ?? 1)
  return (
    // biome-ignore lint/a11y: a scrollable element must be reachable by keyboard, and this one is no landmark
    <div class="picture picture-table delays" role="group" tabIndex={0} aria-label="Delays by retry">
      <table>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Wait</th>
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
        <p class="picture-nothing">{`${rows.length - shown.length} more retries with the same delay.`}</p>
      )}
      {rows.length === 0 && <p class="picture-nothing">No retries: the first failure is final.</p>}
    </div>
  )
}

const range = (lo: number, hi: number): string => (lo === hi ? spanText(lo) : `${spanText(lo)} – ${spanText(hi)}`)

/** A square root scale, because the first retries take seconds and the last may take days. */
const place = (ms: number, last: number): number => Math.sqrt(ms / last) * (BAR - 2)
