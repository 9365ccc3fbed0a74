import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { attemptLabel } from '../../../core/job/job.js'
import type { Decision } from '../../../core/job/lifecycle.js'
import type { AttemptView } from '../../../core/job/view.js'
import type { LogView } from '../../../engine/jobs/log-view.js'
import type { JobTimeline } from '../../../engine/jobs/timeline.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { duration, plural, shortId } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Button } from '../../parts/button.js'
import { Code } from '../../parts/code-sample.js'
import { Copyable } from '../../parts/copyable.js'
import { Empty } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { Facts, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Countdown, Elapsed, Time } from '../../parts/time.js'
import { TraceId } from '../../parts/trace-id.js'
import { query, setQuery } from '../../shell/router.js'
import { windowWords } from '../../timeline/facts.js'
import { LiveLog, Log } from './job-log.js'

const LOGS_MAX = 200
const SHOWN_MAX = 15

/** All runs, newest first, with outcome, error, logs and decision. */
export function Attempts({ data }: { readonly data: JobTimeline }) {
  const { job, attempts, earlier } = data
  const logs = useQuery(`logs ${job.id}`, signal => api.jobs.logs(job.id, { limit: LOGS_MAX }, signal), {
    topics: ['jobs'],
  })
  const newest = [...attempts].reverse()
  const chosen = query.value['run']
  // The newest run is open by default; 0 means none.
  const open = chosen === undefined ? newest[0]?.run : Number(chosen)
  const isAll = useSignal(false)
  const isChosen = ({ run }: AttemptView): boolean => run === open
  const shown = isAll.value ? newest : newest.filter((attempt, i) => i < SHOWN_MAX || isChosen(attempt))
  const linesOf = (run: number): readonly LogView[] => (logs.data?.data ?? []).filter(line => line.run === run)
  const current = (newest[0]?.run ?? 0) + 1
  return (
    <Panel title="Attempts" note={countWords(data)} flush>
      {newest.length === 0 && job.state !== 'running' && (
        <Empty icon="clock" title="No attempts yet">
          Each run is listed here with its error and the retry decision.
        </Empty>
      )}
      <ol class="attempts">
        {job.state === 'running' && (
          <li class="attempt">
            <div class="attempt-head is-running">
              <span class="attempt-label">{attemptLabel(job.attempt, job.generation)}</span>
              <StateMark state="running" />
              <span class="muted">
                for <Elapsed since={job.startedAt ?? job.runAt} />
              </span>
            </div>
            <LiveLog id={job.id} run={job.run ?? current} stored={linesOf(job.run ?? current)} />
          </li>
        )}
        {shown.map(attempt => (
          <Attempt key={attempt.run} attempt={attempt} isOpen={attempt.run === open} logs={linesOf(attempt.run)} />
        ))}
      </ol>
      {shown.length < newest.length && (
        <p class="attempts-more">
          <Button text={`Show all ${newest.length}`} size="sm" onPress={() => (isAll.value = true)} />
        </p>
      )}
      {earlier > 0 && <p class="attempts-more muted">{plural(earlier, 'earlier run')} not shown.</p>}
    </Panel>
  )
}

/** `3 runs, 12 deferrals`: a deferral did not start. */
function countWords({ job, attempts, earlier }: JobTimeline): string {
  const deferrals = attempts.filter(({ status }) => status === 'deferred').length
  const runs = attempts.length - deferrals + earlier + (job.state === 'running' ? 1 : 0)
  return `${plural(runs, 'run')}${deferrals > 0 ? `, ${plural(deferrals, 'deferral')}` : ''}`
}

interface AttemptProps {
  readonly attempt: AttemptView
  readonly isOpen: boolean
  readonly logs: readonly LogView[]
}

function Attempt({ attempt, isOpen, logs }: AttemptProps) {
  const element = useRef<HTMLLIElement>(null)
  const { run, label, status, startedAt, durationMs, error, workerId, decision, generation } = attempt
  const isChosen = query.value['run'] === String(run)
  const isFirst = useRef(true)
  useEffect(() => {
    // Scrolls to a run that was chosen in the timeline, but not when the page opens.
    if (isChosen && !isFirst.current) element.current?.scrollIntoView({ block: 'nearest' })
    isFirst.current = false
  }, [isChosen])
  const toggle = (): void => setQuery({ run: isOpen ? '0' : String(run) }, { replace: true })
  return (
    <li class={`attempt${isOpen ? ' is-open' : ''}`} ref={element}>
      <button type="button" class="attempt-head" aria-expanded={isOpen} onClick={toggle}>
        <Icon name={isOpen ? 'down' : 'right'} size={12} />
        <span class="attempt-label">{label}</span>
        <StateMark state={status} />
        {error?.status !== undefined && <code class="nowrap">{error.status}</code>}
        <span class="attempt-error clip">{error ? `${error.name}: ${error.message}` : (attempt.note ?? '')}</span>
        <span class="muted nowrap">
          <Time at={startedAt} /> · {duration(durationMs)}
        </span>
      </button>
      {isOpen && (
        <div class="attempt-body">
          {decision && decision.action !== 'succeed' && <DecisionRecord attempt={attempt} decision={decision} />}
          {error && (
            <>
              <h3>Error</h3>
              <Code text={error.stack ?? `${error.name}: ${error.message}`} label="Error and stack" />
              {error.code !== undefined && (
                <p class="muted">
                  Code <code>{error.code}</code>
                </p>
              )}
            </>
          )}
          {attempt.note !== undefined && <p>{attempt.note}</p>}
          <Log lines={logs} />
          <p class="muted row wrap">
            run {run}
            {generation > 1 && <span>· generation {generation}</span>}
            <span class="row tight">
              · worker <Copyable text={workerId} shown={shortId(workerId)} what="Worker id" />
            </span>
            {attempt.traceId !== undefined && (
              <span class="row tight">
                · trace <TraceId id={attempt.traceId} />
              </span>
            )}
          </p>
        </div>
      )}
    </li>
  )
}

/** The retry decision with its figures. */
function DecisionRecord({ attempt, decision }: { readonly attempt: AttemptView; readonly decision: Decision }) {
  const { why, kind, rule, strategy, rawMs, capMs, jitter, draw, windowMs } = decision
  const { delayMs, retryAfterMs, dependency, deferredBy, source } = decision
  const drawn = draw === undefined ? '' : `, drawn ${Math.round(draw * 1_000) / 1_000}`
  const isOther = source !== undefined && source !== 'backoff'
  return (
    <div class="decision">
      <p class="decision-why">
        <Icon name={decision.action === 'die' ? 'warning' : 'info'} size={14} />
        {why}
      </p>
      <Facts
        columns={2}
        facts={[
          ['Classified as', kind && `${kind}${rule ? `, by ${rule}` : ''}`],
          ['Backoff', rawMs !== undefined && strategy && `${strategy}: ${duration(rawMs)}`],
          ['Cap', capMs !== undefined && rawMs !== undefined && rawMs > capMs && duration(capMs)],
          ['Jitter', windowMs && jitter && `${jitter}: ${windowWords(attempt)}${drawn}`],
          ['Retry-After', retryAfterMs !== undefined && duration(retryAfterMs)],
          ['Planned wait', delayMs !== undefined && `${duration(delayMs)}${isOther ? `, by ${source}` : ''}`],
          ['Planned for', attempt.nextRunAt && <Planned at={Date.parse(attempt.nextRunAt)} />],
          ['Depends on', dependency && `${dependency}${deferredBy ? `, deferred by its ${deferredBy}` : ''}`],
          ['Error group', attempt.fingerprint && <code>{attempt.fingerprint}</code>],
        ]}
      />
    </div>
  )
}

/** A coming run is counted down as everywhere on the page. */
function Planned({ at }: { readonly at: number }) {
  return at > now.value ? <Countdown at={at} /> : <Time at={at} />
}
