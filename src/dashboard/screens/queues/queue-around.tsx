import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { TrendSpark } from '../../charts/trend-spark.js'
import * as api from '../../data/api.js'
import { count } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Answer } from '../../parts/empty.js'
import { Panel } from '../../parts/panel.js'
import { pageOf } from '../../shell/router.js'
import { WorkerList } from '../system/worker-list.js'

const GROUPS_READ = 200
const GROUPS_SHOWN = 5

export function QueueErrors({ name }: { readonly name: string }) {
  const groups = useQuery('groups of queue', signal => api.dead.groups({ limit: GROUPS_READ }, signal), {
    topics: ['dead'],
    everyMs: 15_000,
  })
  return (
    <Panel title="Top errors" flush>
      <Answer query={groups}>
        {({ data }) => {
          const own = data.filter(({ queues }) => queues.includes(name)).slice(0, GROUPS_SHOWN)
          if (own.length === 0) return <p class="nothing">No dead letters.</p>
          return (
            <ul class="attention">
              {own.map(({ fingerprint, title, dead, trend }) => (
                <li key={fingerprint}>
                  <a href={pageOf('dead', fingerprint)}>
                    <span class="grow">
                      <span class="title">{title}</span>
                      <span class="note">{count(dead)} dead</span>
                    </span>
                    <TrendSpark trend={trend} width={64} />
                  </a>
                </li>
              ))}
            </ul>
          )
        }}
      </Answer>
    </Panel>
  )
}

export function QueueWorkers({ queue }: { readonly queue: QueueReport }) {
  const workers = useQuery('workers', api.workers.list, { topics: ['workers'], everyMs: 10_000 })
  return (
    <Answer query={workers}>
      {({ data }) => (
        <WorkerList
          workers={data.filter(({ queues, state }) => state === 'alive' && queues.includes(queue.name))}
          total={queue.workers}
          none={queue.workers > 0 ? 'Each process of the fleet works on it.' : 'No live workers.'}
        />
      )}
    </Answer>
  )
}
