import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { count } from '../../data/format.js'
import { Badge } from '../../parts/badge.js'
import { Link } from '../../parts/link.js'
import type { Column } from '../../parts/list/table.js'
import { Sparkline } from '../../parts/sparkline.js'
import { Time } from '../../parts/time.js'
import { href, pageOf } from '../../shell/router.js'

const counted =
  (phase: keyof QueueReport['counts']) =>
  ({ counts }: QueueReport): number =>
    counts[phase].value

export const QUEUE_COLUMNS: readonly Column<QueueReport>[] = [
  {
    title: 'Queue',
    width: 'grow',
    phone: 'head',
    sort: ({ name }) => name,
    render: queue => (
      <span class="row">
        <Link to={pageOf('queues', queue.name)} look="strong clip" text={queue.name} />
        <QueueBadge queue={queue} />
      </span>
    ),
  },
  { title: 'Queued', align: 'end', sort: counted('queued'), render: queue => <Phase queue={queue} phase="queued" /> },
  {
    title: 'Running',
    align: 'end',
    sort: counted('running'),
    render: queue => <Phase queue={queue} phase="running" />,
  },
  {
    title: 'Retrying',
    align: 'end',
    sort: counted('retrying'),
    render: queue => <Phase queue={queue} phase="retrying" />,
  },
  {
    title: 'Blocked',
    align: 'end',
    sort: counted('blocked'),
    render: queue => (
      <span class={queue.counts.blocked.value > 0 ? 'retry' : ''}>
        <Phase queue={queue} phase="blocked" />
      </span>
    ),
  },
  {
    title: 'Scheduled',
    align: 'end',
    phone: 'hide',
    sort: counted('scheduled'),
    render: queue => <Phase queue={queue} phase="scheduled" />,
  },
  {
    title: 'Dead',
    align: 'end',
    sort: counted('dead'),
    render: queue => (
      <span class={queue.counts.dead.value > 0 ? 'dead' : ''}>
        <Phase queue={queue} phase="dead" />
      </span>
    ),
  },
  {
    title: 'Oldest due',
    sort: ({ oldestDueAt }) => oldestDueAt,
    render: queue => <Time at={queue.oldestDueAt} none="–" />,
  },
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
