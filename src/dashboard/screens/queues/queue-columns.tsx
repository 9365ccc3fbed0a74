import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { count } from '../../data/format.js'
import { Badge } from '../../parts/badge.js'
import { Link } from '../../parts/link.js'
import type { Column } from '../../parts/list/table.js'
import { Sparkline } from '../../parts/sparkline.js'
import { Time } from '../../parts/time.js'
import { href, pageOf } from '../../shell/router.js'

export const QUEUE_COLUMNS: readonly Column<QueueReport>[] = [
  {
    title: 'Queue',
    width: 'grow',
    phone: 'head',
    render: queue => (
      <span class="row">
        <Link to={pageOf('queues', queue.name)} look="strong clip" text={queue.name} />
        <QueueBadge queue={queue} />
      </span>
    ),
  },
  { title: 'Queued', align: 'end', render: queue => <Phase queue={queue} phase="queued" /> },
  { title: 'Running', align: 'end', render: queue => <Phase queue={queue} phase="running" /> },
  { title: 'Retrying', align: 'end', render: queue => <Phase queue={queue} phase="retrying" /> },
  {
    title: 'Blocked',
    align: 'end',
    render: queue => (
      <span class={queue.counts.blocked.value > 0 ? 'retry' : ''}>
        <Phase queue={queue} phase="blocked" />
      </span>
    ),
  },
  { title: 'Scheduled', align: 'end', phone: 'hide', render: queue => <Phase queue={queue} phase="scheduled" /> },
  {
    title: 'Dead',
    align: 'end',
    render: queue => (
      <span class={queue.counts.dead.value > 0 ? 'dead' : ''}>
        <Phase queue={queue} phase="dead" />
      </span>
    ),
  },
  { title: 'Oldest due', render: queue => <Time at={queue.oldestDueAt} none="–" /> },
  { title: 'Last 15 min', render: ({ spark }) => <Spark spark={spark} /> },
]

interface PhaseProps {
  readonly queue: QueueReport
  readonly phase: keyof QueueReport['counts']
}

function Phase({ queue: { name, counts }, phase }: PhaseProps) {
  const own = counts[phase]
  if (own.value === 0 && own.relation === 'exact') return <span class="muted">0</span>
  return <a href={href('/jobs', { queue: name, state: phase })}>{count(own)}</a>
}

function Spark({ spark: { succeeded, failed } }: { readonly spark: QueueReport['spark'] }) {
  const sum = (values: readonly number[]): string => count(values.reduce((total, value) => total + value, 0))
  const words = `${sum(succeeded)} succeeded, ${sum(failed)} failed runs in 15 minutes`
  return <Sparkline values={succeeded} over={failed} hue="ok" label={words} />
}

/** Shown only for unusual states. */
export function QueueBadge({ queue }: { readonly queue: QueueReport }) {
  const waits = queue.counts.queued.value + queue.counts.retrying.value > 0
  if (queue.paused) {
    return (
      <Badge hue="retry" icon="pause">
        Paused
      </Badge>
    )
  }
  if (queue.hasWorkers || !waits) return null
  return (
    <Badge hue="dead" icon="workers" tip="Jobs are waiting, and no live worker serves this queue">
      No workers
    </Badge>
  )
}
