import type { WorkerView } from '../../../engine/worker/fleet.js'
import { count } from '../../data/format.js'
import { Panel } from '../../parts/panel.js'
import { Meter } from '../../parts/sparkline.js'
import { pageOf } from '../../shell/router.js'

const WORKERS_SHOWN = 8

interface WorkerListProps {
  readonly workers: readonly WorkerView[]
  /** Their number, if it is not that of the list. */
  readonly total?: number
  readonly none: string
}

/** Live workers with their slots, beside what they work on. */
export function WorkerList({ workers, total = workers.length, none }: WorkerListProps) {
  return (
    <Panel title="Workers" note={count(total)} flush>
      {workers.length === 0 ? (
        <p class="nothing">{none}</p>
      ) : (
        <ul class="attention">
          {workers.slice(0, WORKERS_SHOWN).map(({ id, host, pid, running, concurrency }) => (
            <li key={id}>
              <a href={pageOf('workers', id)}>
                <span class="grow clip">
                  {host} <span class="muted">{pid}</span>
                </span>
                <Meter
                  value={running}
                  max={concurrency}
                  text={`${count(running)} of ${count(concurrency)}`}
                  label="Slots in use"
                />
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
