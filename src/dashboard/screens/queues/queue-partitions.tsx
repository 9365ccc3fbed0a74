import { paceText } from '../../../core/partition/words.js'
import type { PartitionView } from '../../../engine/limits/partitions.js'
import * as api from '../../data/api.js'
import { now } from '../../data/clock.js'
import { count, plural, shortId } from '../../data/format.js'
import { Badge } from '../../parts/badge.js'
import { chosenIn, UrlChoice } from '../../parts/form/field.js'
import { Link } from '../../parts/link.js'
import { List, usePage } from '../../parts/list/list.js'
import type { Column } from '../../parts/list/table.js'
import { Panel } from '../../parts/panel.js'
import { Meter } from '../../parts/sparkline.js'
import { Countdown } from '../../parts/time.js'
import { pageOf } from '../../shell/router.js'
import type { Limits } from './limits-form.js'
import './queue.css'

const SHOWN = [
  { value: 'all', text: 'All' },
  { value: 'stopped', text: 'Stopped' },
] as const

const SIZE = 25

/** The partitions of a queue with limits: what runs and waits in each, and what its jobs wait for. */
export function QueuePartitions({ name, limits }: { readonly name: string; readonly limits: Limits }) {
  const which = chosenIn('partitions', SHOWN).value
  const found = usePage(
    `partitions ${name} ${which}`,
    (page, signal) => api.queues.partitions(name, { ...page, which }, signal),
    { topics: ['queues', 'jobs', 'dead'], everyMs: 5_000, limit: SIZE },
  )
  const choice = <UrlChoice label="Partitions to show" name="partitions" options={SHOWN} />
  return (
    <List
      query={found}
      title="Partitions"
      label="Partitions"
      columns={columns(limits)}
      rowKey={({ name: own }) => `=${own}`}
      actions={() => choice}
      size={({ data, page }) => `${plural(data.length, 'partition')}${page.next === undefined ? '' : ' on this page'}`}
      lines={4}
      empty={
        <Panel title="Partitions" actions={choice} stale={found.isStale}>
          <p class="muted">
            {which === 'stopped' ? 'No dead letter stops a partition.' : 'No jobs run or wait in this queue.'}
          </p>
        </Panel>
      }
    />
  )
}

function columns({ partitions }: Limits): readonly Column<PartitionView>[] {
  return [
    {
      title: 'Partition',
      width: 'grow',
      phone: 'head',
      sort: ({ name }) => name,
      render: ({ name, override }) => (
        <span class="row">
          {name === '' ? (
            <span class="muted" data-tip="Jobs with neither a partition nor a tenant">
              (none)
            </span>
          ) : (
            <span class="strong clip">{name}</span>
          )}
          {override && <Badge tip="Its limits override those of other partitions">own limits</Badge>}
        </span>
      ),
    },
    {
      title: 'Running',
      align: 'end',
      sort: ({ running }) => running,
      render: ({ running, limit }) => <InUse running={running} concurrency={limit?.concurrency} />,
    },
    {
      title: 'Waiting',
      align: 'end',
      sort: ({ waiting }) => waiting.value,
      render: ({ waiting }) => (waiting.value === 0 ? <span class="muted">0</span> : count(waiting)),
    },
    { title: 'Rate', align: 'end', render: ({ limit }) => <Rates limit={limit} /> },
    ...(partitions?.learn
      ? [
          {
            title: 'Learned rate',
            align: 'end',
            render: ({ learnedRate }: PartitionView) =>
              learnedRate === undefined ? <span class="muted">–</span> : paceText(learnedRate),
          } as const,
        ]
      : []),
    { title: 'State', render: partition => <State partition={partition} /> },
  ]
}

interface InUseProps {
  readonly running: number
  readonly concurrency: number | undefined
}

/** `2 of 10`, or the number alone if it is not limited. */
export function InUse({ running, concurrency }: InUseProps) {
  if (concurrency === undefined) return <>{count(running)}</>
  const text = `${count(running)} of ${count(concurrency)}`
  return <Meter value={running} max={concurrency} text={text} label="Running" />
}

function Rates({ limit }: { readonly limit: PartitionView['limit'] }) {
  const { rate, burst, units = {} } = limit ?? {}
  const all = [
    ...(rate === undefined ? [] : [paceText(rate)]),
    ...Object.entries(units).map(([unit, amount]) => `${paceText(amount)} ${unit}`),
  ]
  if (all.length === 0) return <span class="muted">–</span>
  return <span data-tip={burst === undefined ? undefined : `${count(burst)} at once`}>{all.join(', ')}</span>
}

/** Whether its next job may start, or what it waits for. */
function State({ partition }: { readonly partition: PartitionView }) {
  const { blockedBy, stoppedBy, openAt, running, limit } = partition
  if (stoppedBy !== undefined) {
    return (
      <span class="partition-state row tight">
        <Badge hue="dead" icon="stop">
          Stopped
        </Badge>
        <Link to={pageOf('jobs', stoppedBy)} text={`by dead letter ${shortId(stoppedBy)}`} />
      </span>
    )
  }
  const opens = openAt !== undefined && Date.parse(openAt) > now.value
  const look = blockedBy && LOOKS[blockedBy]
  if (look) {
    return (
      <span class="partition-state row tight">
        <Badge hue={look.hue} icon={look.icon} tip={partition.words}>
          {look.text}
        </Badge>
        {opens && (
          <span class="muted">
            next start <Countdown at={Date.parse(openAt)} />
          </span>
        )}
      </span>
    )
  }
  const isFull = limit?.concurrency !== undefined && running >= limit.concurrency
  if (isFull) return <span class="muted">Full, nothing waits</span>
  return opens ? (
    <span class="muted">
      Open, next job <Countdown at={Date.parse(openAt)} />
    </span>
  ) : (
    <span class="muted">Open</span>
  )
}

/** A badge has an icon and a text, so that it needs no colour. */
const LOOKS = {
  limit: { text: 'Full', hue: 'retry', icon: 'pause' },
  rate: { text: 'Rate limited', hue: 'retry', icon: 'clock' },
  order: { text: 'Earlier job first', hue: 'wait', icon: 'queued' },
  stopped: { text: 'Stopped', hue: 'dead', icon: 'stop' },
} as const
