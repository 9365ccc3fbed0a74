import { useSignal } from '@preact/signals'
import type { AlertView } from '../../../core/alert/alert.js'
import type { FleetStats } from '../../../engine/figures/statistics.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import * as api from '../../data/api.js'
import { now, serverNow } from '../../data/clock.js'
import { count, plural, relative } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Icon, type IconName } from '../../parts/icon.js'
import { Panel } from '../../parts/panel.js'
import { href, pageOf } from '../../shell/router.js'
import { causeOf, silenceOf } from '../alerts/alert-words.js'
import type { QueuesQuery } from './overview-queues.js'

interface Item {
  readonly key: string
  readonly icon: IconName
  readonly hue: 'dead' | 'retry' | 'run'
  readonly title: string
  readonly note: string
  readonly to: string
}

/** More would hide what is worst. */
const ITEMS_SHOWN = 5
const LISTED = 50

const MORE_GROUPS: Item = {
  key: 'more errors',
  icon: 'dead',
  hue: 'dead',
  title: `More than ${LISTED} errors have dead letters`,
  note: 'The Dead letters page lists all of them',
  to: href('/dead'),
}

interface Around extends Awaited<ReturnType<typeof look>> {
  readonly queues: readonly QueueReport[]
}

async function look(signal: AbortSignal) {
  const [alerts, silences, circuits, groups, redrives, webhooks] = await Promise.all([
    api.alerts.list({ state: 'firing' }, signal),
    api.alerts.silences(signal),
    api.circuits.list({ restricted: true, limit: LISTED }, signal),
    api.dead.groups({ limit: LISTED }, signal),
    api.redrives.list({ limit: LISTED }, signal),
    api.webhooks.list({ limit: LISTED }, signal),
  ])
  return {
    // A silenced alert is known, and needs no attention.
    alerts: alerts.data.filter(alert => silenceOf(alert, silences.data, serverNow()) === undefined),
    circuits: circuits.data,
    groups: groups.data,
    hasMoreGroups: groups.page.next !== undefined,
    redrives: redrives.data,
    webhooks: webhooks.data,
  }
}

/** The things that need attention, worst first. */
export function Attention({ stats, queues }: { readonly stats: FleetStats; readonly queues: QueuesQuery }) {
  const around = useQuery('attention', look, {
    topics: ['dead', 'alerts', 'circuits', 'redrives', 'webhooks'],
    everyMs: 15_000,
  })
  return (
    <Panel title="Needs attention" flush>
      <Answer query={queues}>
        {list => (
          <Answer query={around}>
            {data => (
              <Items
                items={[...itemsOf({ ...data, queues: list.data }), ...unhandledNames(stats), ...silentWorkers(stats)]}
              />
            )}
          </Answer>
        )}
      </Answer>
    </Panel>
  )
}

function Items({ items }: { readonly items: readonly Item[] }) {
  const isAll = useSignal(false)
  if (items.length === 0) {
    return (
      <Empty icon="check" title="Everything is fine" good>
        No alert is firing, no queue is paused or without workers while jobs wait, and there are no new dead letters.
      </Empty>
    )
  }
  const shown = isAll.value ? items : items.slice(0, ITEMS_SHOWN)
  return (
    <ul class="attention">
      {shown.map(item => (
        <li key={item.key}>
          <a href={item.to}>
            <span class={item.hue}>
              <Icon name={item.icon} />
            </span>
            <span class="grow">
              <span class="title">{item.title}</span>
              <span class="note">{item.note}</span>
            </span>
            <Icon name="right" size={12} class="muted" />
          </a>
        </li>
      ))}
      {shown.length < items.length && (
        <li>
          <button type="button" class="link-button attention-more" onClick={() => (isAll.value = true)}>
            {items.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  )
}

function itemsOf({ queues, alerts, circuits, groups, hasMoreGroups, redrives, webhooks }: Around): readonly Item[] {
  return [
    ...byRule(alerts).map(alertItem),
    // An alert already reports these.
    ...queues.filter(({ name }) => !alerts.some(({ labels }) => labels['queue'] === name)).flatMap(queueItem),
    ...circuits
      .filter(({ state }) => state === 'open' || state === 'half-open')
      .map(
        ({ key, tenantId, reason }): Item => ({
          key: `circuit ${key} ${tenantId ?? ''}`,
          icon: 'dependencies',
          hue: 'retry',
          title: `The circuit of ${key}${tenantId === undefined ? '' : ` for ${tenantId}`} is open`,
          note: reason ?? 'Jobs wait and lose no attempt',
          to: href('/dependencies', { q: key }),
        }),
      ),
    ...webhooks
      .filter(({ state }) => state === 'disabled')
      .map(
        ({ id, url, disabledReason }): Item => ({
          key: id,
          icon: 'webhooks',
          hue: 'retry',
          title: `The webhook to ${hostOf(url)} is disabled`,
          note: disabledReason ?? '',
          to: pageOf('webhooks', id),
        }),
      ),
    ...redrives
      .filter(({ state }) => state === 'canary' || state === 'running' || state === 'stopped')
      .map(
        ({ id, state, started, total, why }): Item => ({
          key: id,
          icon: 'redrive',
          hue: state === 'stopped' ? 'dead' : 'run',
          title: state === 'stopped' ? 'A redrive has stopped' : 'A redrive is running',
          note: why ?? `${count(started)} of ${count(total)} started`,
          to: pageOf('redrives', id),
        }),
      ),
    ...groups
      .filter(({ state }) => state === 'open' || state === 'regressed')
      .map(
        ({ fingerprint, title, dead, state, lastSeen }): Item => ({
          key: fingerprint,
          icon: 'dead',
          hue: 'dead',
          title,
          note: `${plural(dead, 'dead job')}${state === 'regressed' ? ', regressed' : ''} · last ${relative(Date.parse(lastSeen), now.value)}`,
          to: pageOf('dead', fingerprint),
        }),
      ),
    ...(hasMoreGroups ? [MORE_GROUPS] : []),
  ]
}

/** The alerts of each rule; a rule with a critical alert comes first. */
function byRule(alerts: readonly AlertView[]): readonly (readonly AlertView[])[] {
  const rules = new Map<string, AlertView[]>()
  for (const alert of alerts) rules.set(alert.rule, [...(rules.get(alert.rule) ?? []), alert])
  const isCritical = (some: readonly AlertView[]): boolean => some.some(({ severity }) => severity === 'critical')
  return [...rules.values()].sort((a, b) => Number(isCritical(b)) - Number(isCritical(a)))
}

function alertItem(alerts: readonly AlertView[]): Item {
  const [first] = alerts
  const { rule, since, summary } = first!
  const names = alerts.map(({ labels }) => Object.values(labels)[0]).filter(name => name !== undefined)
  return {
    key: rule,
    icon: 'alerts',
    hue: alerts.some(({ severity }) => severity === 'critical') ? 'dead' : 'retry',
    title: alerts.length === 1 ? summary : `${rule}: ${plural(alerts.length, 'alert')}`,
    note: `${alerts.length === 1 ? rule : names.join(', ')} · since ${relative(Date.parse(since), now.value)}`,
    to: causeOf(alerts),
  }
}

function queueItem({ name, paused, hasWorkers, counts }: Around['queues'][number]): readonly Item[] {
  const waiting = counts.queued.value + counts.retrying.value + (paused ? counts.blocked.value : 0)
  if (waiting === 0 || (!paused && hasWorkers)) return []
  return [
    {
      key: `queue ${name}`,
      icon: paused ? 'pause' : 'workers',
      hue: paused ? 'retry' : 'dead',
      title: paused ? `Queue ${name} is paused` : `Queue ${name} has no workers`,
      note: `${plural(waiting, 'job waits', 'jobs wait')}`,
      to: pageOf('queues', name),
    },
  ]
}

function unhandledNames({ unhandled }: FleetStats): readonly Item[] {
  return unhandled.map(({ queue, name, waiting, similar }) => ({
    key: `unhandled ${queue} ${name}`,
    icon: 'workers',
    hue: 'dead',
    title: `No worker has a handler for ${name}`,
    note: `${plural(waiting.value, 'job waits', 'jobs wait')} in ${queue}${similar === undefined ? '' : `; did you mean ${similar}?`}`,
    to: href('/jobs', { state: 'queued', name }),
  }))
}

function silentWorkers({ workers }: FleetStats): readonly Item[] {
  if (workers.silent === 0) return []
  const title = `${plural(workers.silent, 'worker')} fell silent`
  const note = 'No heartbeat; their jobs are released'
  return [{ key: 'silent', icon: 'workers', hue: 'retry', title, note, to: href('/workers') }]
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
