import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import * as api from '../../data/api.js'
import { useQuery } from '../../data/query.js'
import { Link } from '../../parts/link.js'
import { List } from '../../parts/list/list.js'
import { href, pageOf } from '../../shell/router.js'
import { QUEUE_COLUMNS } from '../queues/queue-columns.js'

const SHOWN = 6
const HERE = QUEUE_COLUMNS.filter(({ title }) => title !== 'Scheduled' && title !== 'Oldest due')

/** Both panels of the Overview need the queues, and a store with many jobs needs time to count them. */
export const useBusiest = () =>
  useQuery('queues', api.queues.busiest, { topics: ['queues', 'workers'], everyMs: 10_000 })
export type QueuesQuery = ReturnType<typeof useBusiest>

/** The queues with the most activity. */
export function BusyQueues({ queues }: { readonly queues: QueuesQuery }) {
  return (
    <List
      query={queues}
      title="Busiest queues"
      actions={() => <Link to={href('/queues')} text="All queues" />}
      label="Busiest queues"
      columns={HERE}
      pick={rows => [...rows].sort((a, b) => weight(b) - weight(a)).slice(0, SHOWN)}
      rowKey={({ name }) => name}
      href={({ name }) => pageOf('queues', name)}
    />
  )
}

/** Sorted by the last hour, so that rows do not move with every job. */
const weight = ({ lastHour }: QueueReport): number => lastHour.started + lastHour.enqueued
