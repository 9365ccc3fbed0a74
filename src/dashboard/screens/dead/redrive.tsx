import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import { type RateSample, RedriveProgress, RedriveRate } from '../../charts/redrive-chart.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { count, duration, percent, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { CopyableId } from '../../parts/copyable.js'
import { Detail } from '../../parts/empty.js'
import { PageActions } from '../../parts/layer/actions.js'
import { Link } from '../../parts/link.js'
import { Facts, PageHead, Panel } from '../../parts/panel.js'
import { StateMark } from '../../parts/state.js'
import { Tile, Tiles } from '../../parts/tile.js'
import { Time } from '../../parts/time.js'
import { href, pageOf } from '../../shell/router.js'
import { RateSlider } from './rate-slider.js'
import { errorText } from './redrives.js'
import './dead.css'

const SAMPLES_MAX = 600

/** One redrive: progress, rate, outcomes and controls. */
export default function Redrive({ params }: ScreenProps) {
  const id = params['id']!
  const redrive = useQuery(`redrive ${id}`, signal => api.redrives.get(id, signal), {
    topics: ['redrives'],
    everyMs: 1_000,
  })
  return (
    <Detail query={redrive} missing="Redrive not found" list={{ href: href('/redrives'), text: 'All redrives' }}>
      {data => <Found redrive={data} after={redrive.refetch} />}
    </Detail>
  )
}

interface FoundProps {
  readonly redrive: RedriveView
  readonly after: () => void
}

function Found({ redrive, after }: FoundProps) {
  const samples = useSamples(redrive)
  const { fingerprint, tenantId } = redrive.filter
  const group = useQuery(`group ${fingerprint ?? ''} ${tenantId ?? ''}`, async signal =>
    fingerprint === undefined ? undefined : api.dead.group(fingerprint, tenantId, signal),
  )
  const error = group.data?.title
  const { id, why, started, succeeded, failing, total, results, skipped, conflictCount } = redrive
  const settled = succeeded + results.dead + results.cancelled
  return (
    <>
      <PageHead
        title="Redrive"
        up={{ href: href('/redrives'), text: 'Redrives' }}
        sub={
          <span class="row wrap tight">
            <StateMark state={redrive.state} as="badge" />
            <span class="ink-2">{errorText(redrive, error)}</span>
          </span>
        }
        actions={may('operator') ? <Reins redrive={redrive} after={after} /> : undefined}
      />
      <div class="stack">
        {why !== undefined && <p class="notice retry">{why}</p>}
        <Tiles>
          <Tile
            label="Started"
            value={count(started)}
            note={`of ${count(total)}`}
            href={href('/jobs', { redrive: id })}
          />
          <Tile
            label="Succeeded"
            value={count(succeeded)}
            hue="ok"
            note={settled === 0 ? 'no outcomes yet' : percent(succeeded / settled)}
          />
          <Tile
            label="Failing again"
            value={count(failing)}
            hue={failing > 0 ? 'dead' : undefined}
            note={`stops at ${percent(redrive.stopWhenFailing)}`}
          />
          <Tile label="Remaining" value={count(Math.max(0, total.value - started - skipped))} note={etaOf(redrive)} />
        </Tiles>
      </div>
      <div class="stack loose redrive-body">
        <Panel>
          <RedriveProgress redrive={redrive} />
        </Panel>
        {samples.length > 2 && (
          <Panel>
            <RedriveRate samples={samples} perSecond={perSecondOf(redrive)} />
          </Panel>
        )}
        {fingerprint !== undefined && (
          <ErrorOf redrive={redrive} fingerprint={fingerprint} title={error ?? fingerprint} />
        )}
        <Panel title="Configuration">
          <Facts
            facts={[
              ['Canary', redrive.canary === 0 ? 'none' : count(redrive.canary)],
              ['Rate', redrive.rate],
              ['Stops when failing', percent(redrive.stopWhenFailing)],
              ['Created', <Time at={redrive.createdAt} />],
              ['Finished', redrive.finishedAt && <Time at={redrive.finishedAt} />],
              ['Skipped', count(skipped)],
              ['Id', <CopyableId id={id} what="Redrive id" />],
            ]}
          />
        </Panel>
        {conflictCount > 0 && <Conflicts redrive={redrive} />}
      </div>
    </>
  )
}

/** The error that the redrive is about, and what its jobs died of this time. */
interface ErrorProps {
  readonly redrive: RedriveView
  readonly fingerprint: string
  readonly title: string
}

function ErrorOf({ redrive, fingerprint, title }: ErrorProps) {
  const { id, filter, results } = redrive
  const { dead } = results
  // Both numbers are of one moment: a difference to an older count would show errors that do not exist.
  const again = useQuery(`redrive ${id} ${fingerprint} ${dead}`, async signal => {
    const { count: same } = await api.jobs.list({ redriveId: id, phase: 'dead', fingerprint, limit: 1 }, signal)
    return { same, other: same.relation === 'exact' ? Math.max(0, dead - same.value) : undefined }
  })
  const { same, other } = again.data ?? {}
  const jobs = (of: Record<string, string>): string => href('/jobs', { redrive: id, state: 'dead', ...of })
  return (
    <Panel title="Error">
      <Facts
        facts={[
          ['Error group', <Link to={pageOf('dead', fingerprint, { tenant: filter.tenantId })} text={title} />],
          ['Jobs', <Link to={href('/jobs', { redrive: id })} text={plural(redrive.started, 'started job')} />],
          ['Died again', <Link to={jobs({})} text={count(dead)} />],
          ['Died of the same error', same ? <Link to={jobs({ fingerprint })} text={count(same)} /> : '–'],
          ['Died of another error', other === undefined ? '–' : count(other)],
        ]}
      />
    </Panel>
  )
}

function Conflicts({ redrive: { conflicts, conflictCount } }: { readonly redrive: RedriveView }) {
  return (
    <Panel title="Conflicts" note="Another active job has the same unique key; these jobs stay dead">
      <ul class="stack tight">
        {conflicts.map(({ jobId, conflictId }) => (
          <li key={jobId}>
            <Link to={pageOf('jobs', jobId)} look="mono" text={jobId} /> waits for{' '}
            <Link to={pageOf('jobs', conflictId)} look="mono" text={conflictId} />
          </li>
        ))}
      </ul>
      {conflictCount > conflicts.length && <p class="muted">and {count(conflictCount - conflicts.length)} more</p>}
    </Panel>
  )
}

const isActive = ({ state }: RedriveView): boolean => state === 'canary' || state === 'running'

function Reins({ redrive, after }: FoundProps) {
  const rate = useSignal(perSecondOf(redrive))
  const { id, state } = redrive
  const canResume = state === 'paused' || state === 'stopped'
  const isOpen = isActive(redrive) || state === 'paused'
  const setRate = (next: number): Promise<unknown> =>
    act({
      run: () => api.redrives.setRate(id, `${next}/s`),
      done: `Changed rate to ${count(next)} per second`,
      after,
    })
  return (
    <span class="row wrap">
      {isOpen && <RateSlider rate={rate} onDone={next => void setRate(next)} />}
      <PageActions
        label="Actions for this redrive"
        actions={[
          isActive(redrive) && { text: 'Pause', icon: 'pause', as: 'button', onPress: () => void pause(id, after) },
          canResume && { text: 'Resume', icon: 'play', as: 'primary', onPress: () => void resume(redrive, after) },
          (isOpen || canResume) && {
            text: 'Abort',
            icon: 'cancel',
            tone: 'danger',
            as: 'button',
            onPress: () => void abort(id, after),
          },
        ]}
      />
    </span>
  )
}

const pause = (id: string, after: () => void): Promise<unknown> =>
  act({ run: () => api.redrives.pause(id), done: 'Paused redrive', undo: () => api.redrives.resume(id), after })

function resume({ id, state }: RedriveView, after: () => void): Promise<unknown> {
  const confirm = {
    title: 'Resume this redrive?',
    effect:
      'It stopped because too many jobs failed again. Resuming resets the failure count and starts the remaining jobs at the configured rate.',
    verb: 'Resume redrive',
  }
  return act({
    ...(state === 'stopped' && { confirm }),
    run: () => api.redrives.resume(id),
    done: 'Resumed redrive',
    after,
  })
}

function abort(id: string, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: 'Abort this redrive?',
      effect: 'Started jobs continue. The remaining jobs stay dead letters.',
      verb: 'Abort redrive',
      tone: 'danger',
    },
    run: () => api.redrives.abort(id),
    done: 'Aborted redrive',
    after,
  })
}

function perSecondOf({ rate }: RedriveView): number {
  const [, number = '10', unit = 's'] = /^([\d.]+)\s*\/\s*(s|m|h)/.exec(rate) ?? []
  return Number(number) / { s: 1, m: 60, h: 3600 }[unit as 's' | 'm' | 'h']
}

function etaOf(redrive: RedriveView): string {
  if (!isActive(redrive)) return ''
  const left = Math.max(0, redrive.total.value - redrive.started - redrive.skipped)
  return redrive.state === 'canary'
    ? 'waiting for the canary'
    : `at least ${duration((left / perSecondOf(redrive)) * 1000)}`
}

function useSamples({ started, succeeded, results }: RedriveView): readonly RateSample[] {
  const samples = useRef<RateSample[]>([])
  const last = samples.current.at(-1)
  const at = serverNow()
  if (!last || last.started !== started || last.succeeded !== succeeded || at - last.at >= 1_000) {
    samples.current = [...samples.current.slice(-SAMPLES_MAX), { at, started, succeeded, dead: results.dead }]
  }
  return samples.current
}
