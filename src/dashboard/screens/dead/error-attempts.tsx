import { useSignal } from '@preact/signals'
import type { AttemptView, JobView } from '../../../core/job/view.js'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import * as api from '../../data/api.js'
import { clockText, duration, shortId } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Answer } from '../../parts/empty.js'
import { Select } from '../../parts/form/field.js'
import { Link } from '../../parts/link.js'
import { Panel } from '../../parts/panel.js'
import { Stack } from '../../parts/stack.js'
import { TraceId } from '../../parts/trace-id.js'
import { pageOf } from '../../shell/router.js'

type Group = ErrorGroupView & { readonly jobs?: readonly JobView[] }

interface Failed {
  readonly job: JobView
  readonly attempt: AttemptView
  /** The value of its option. */
  readonly id: string
}

/** Two failed attempts of the samples, side by side. */
export function ErrorAttempts({ group }: { readonly group: Group }) {
  const { fingerprint, jobs = [] } = group
  const ids = jobs.map(({ id }) => id)
  const timelines = useQuery(
    `samples ${ids.join(' ')}`,
    async signal => Promise.all(ids.map(id => api.jobs.timeline(id, signal))),
    { topics: ['dead'] },
  )
  return (
    <Panel title="Attempts" note="Failed attempts of the newest jobs, side by side">
      <Answer query={timelines} lines={6}>
        {found => <Compared failed={failedIn(found, fingerprint)} />}
      </Answer>
    </Panel>
  )
}

interface Timeline {
  readonly job: JobView
  readonly attempts: readonly AttemptView[]
}

function failedIn(timelines: readonly Timeline[], fingerprint: string): readonly Failed[] {
  return timelines.flatMap(({ job, attempts }) =>
    attempts
      .filter(attempt => attempt.error !== undefined && (attempt.fingerprint ?? fingerprint) === fingerprint)
      .reverse()
      .map(attempt => ({ job, attempt, id: `${job.id} ${attempt.run}` })),
  )
}

function Compared({ failed }: { readonly failed: readonly Failed[] }) {
  const [first] = failed
  // Another job says more than another attempt of the same job.
  const other = failed.find(({ job }) => job.id !== first?.job.id) ?? failed[1]
  const left = useSignal(first?.id ?? '')
  const right = useSignal(other?.id ?? '')
  if (!first) return <p class="muted">The jobs of this group are no longer stored.</p>
  const chosen = [left, right].map(side => failed.find(({ id }) => id === side.value)) as [Failed?, Failed?]
  if (!other) return <Side failed={failed} side={left} shown={chosen[0] ?? first} other={undefined} label="Attempt" />
  return (
    <div class="error-attempts">
      <Side failed={failed} side={left} shown={chosen[0] ?? first} other={chosen[1]} label="Left attempt" />
      <Side failed={failed} side={right} shown={chosen[1] ?? other} other={chosen[0]} label="Right attempt" />
    </div>
  )
}

interface SideProps {
  readonly failed: readonly Failed[]
  readonly side: { value: string }
  readonly shown: Failed
  readonly other: Failed | undefined
  readonly label: string
}

function Side({ failed, side, shown, other, label }: SideProps) {
  const { job, attempt } = shown
  const { error } = attempt
  return (
    <section class="stack tight" aria-label={label}>
      <Select
        label={label}
        value={side.value}
        onChange={next => (side.value = next)}
        options={failed.map(each => ({ value: each.id, text: titleOf(each) }))}
      />
      <dl class="error-facts">
        {factsOf(shown).map(([term, value], i) => {
          const isOther = other !== undefined && factsOf(other)[i]![1] !== value
          return (
            <div key={term} class={isOther ? 'differs' : undefined}>
              <dt>{term}</dt>
              <dd>
                {value}
                {isOther && (
                  <span class="muted" role="img" aria-label="differs">
                    {' '}
                    ≠
                  </span>
                )}
              </dd>
            </div>
          )
        })}
      </dl>
      <p class="row wrap">
        <Link to={pageOf('jobs', job.id, { run: String(attempt.run) })} text="Show job" />
        {attempt.traceId !== undefined && (
          <span class="row tight muted">
            trace <TraceId id={attempt.traceId} />
          </span>
        )}
      </p>
      <Stack
        text={error!.stack ?? `${error!.name}: ${error!.message}`}
        label={`${attempt.label} of job ${shortId(job.id)}`}
      />
    </section>
  )
}

const titleOf = ({ job, attempt }: Failed): string =>
  `${shortId(job.id)} · ${attempt.label} · ${clockText(Date.parse(attempt.startedAt), 'local')}`

function factsOf({ job, attempt }: Failed): readonly (readonly [term: string, value: string])[] {
  const { error, workerId, durationMs, status } = attempt
  return [
    ['Message', error!.message],
    ['Outcome', [status, error!.code, error!.status].filter(part => part !== undefined).join(' · ')],
    ['Job', `${job.name} in ${job.queue}`],
    ['Tenant', job.tenantId ?? '–'],
    ['Worker', shortId(workerId)],
    ['Duration', duration(durationMs)],
  ]
}
