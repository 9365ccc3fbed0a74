import type { NameReport } from '../../../engine/names/view.js'
import { duration, percent, plural, shortId } from '../../data/format.js'
import { rangeParameters } from '../../data/range.js'
import { Link } from '../../parts/link.js'
import { Table } from '../../parts/list/table.js'
import { Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { pageOf } from '../../shell/router.js'

interface OfName {
  readonly report: NameReport
}

export function NameQueues({ report: { queues } }: OfName) {
  return (
    <Panel title="Queues" flush>
      {queues.length === 0 ? (
        <p class="nothing">No activity in this time range.</p>
      ) : (
        <ul class="attention">
          {queues.map(({ queue, started, failureShare, runMs, waitMs }) => (
            <li key={queue}>
              <a href={pageOf('queues', queue, rangeParameters())}>
                <span class="grow">
                  <span class="title">{queue}</span>
                  <span class="note">
                    {plural(started, 'run')}, {percent(failureShare)} failed · run time p95 {duration(runMs?.p95)}, wait
                    p95 {duration(waitMs?.p95)}
                  </span>
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

export function NameErrors({ report: { errors } }: OfName) {
  return (
    <Panel title="Top errors" flush>
      {errors.length === 0 ? (
        <p class="nothing">No run failed in this time range.</p>
      ) : (
        <ul class="attention">
          {errors.map(({ fingerprint, title, failures }) => (
            <li key={fingerprint}>
              <a href={pageOf('dead', fingerprint, rangeParameters())}>
                <span class="grow">
                  <span class="title">{title}</span>
                  <span class="note">{plural(failures, 'failed run')}</span>
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

interface TopJobsProps {
  readonly title: string
  readonly none: string
  readonly jobs: readonly (Omit<NameReport['slowest'][number], 'runMs'> & { readonly value: string })[]
}

/** A job that was removed is listed without a link. */
export function TopJobs({ title, none, jobs }: TopJobsProps) {
  return (
    <Panel title={title} flush>
      {jobs.length === 0 ? (
        <p class="nothing">{none}</p>
      ) : (
        <Table
          label={title}
          rows={jobs}
          columns={[
            {
              title: 'Job',
              width: 'grow',
              phone: 'head',
              render: ({ id, state }) =>
                state === undefined ? (
                  <code class="muted">{shortId(id)}</code>
                ) : (
                  <Link to={pageOf('jobs', id)} look="clip" text={shortId(id)} />
                ),
            },
            {
              title: 'State',
              render: ({ state }) => (state ? <StateMark state={state} /> : <span class="muted">removed</span>),
            },
            { title: title === 'Slowest runs' ? 'Run time' : 'Attempts', align: 'end', render: ({ value }) => value },
          ]}
        />
      )}
    </Panel>
  )
}
