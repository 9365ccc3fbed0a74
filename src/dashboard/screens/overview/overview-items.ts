import type { AlertView, Labels } from '../../../core/alert/alert.js'
import { sumOfCounts } from '../../../core/values/count.js'
import { present } from '../../../core/values/present.js'
import { type EndpointView, endpointHost } from '../../../core/webhook/webhook.js'
import type { ErrorGroupList, ErrorGroupView } from '../../../engine/dead/dead.js'
import type { RedriveView } from '../../../engine/dead/redrives.js'
import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import type { FleetStats } from '../../../engine/figures/statistics.js'
import type { List } from '../../../engine/jobs/query.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import * as api from '../../data/api.js'
import { now, serverNow } from '../../data/clock.js'
import { age, count, plural, relative } from '../../data/format.js'
import type { IconName } from '../../parts/icon.js'
import { href, pageOf } from '../../shell/router.js'
import { causeOf, silenceOf } from '../alerts/alert-words.js'
import { DISABLED_WHY } from '../webhooks/webhook-events.js'

/** One thing that needs attention, with the page of its cause. */
export interface Item {
  readonly key: string
  readonly icon: IconName
  readonly hue: 'dead' | 'retry' | 'run'
  readonly title: string
  readonly note: string
  readonly to: string
}

/** What is known besides the figures. */
export interface Around extends Awaited<ReturnType<typeof look>> {
  readonly queues: readonly QueueReport[]
  readonly stats: FleetStats
}

const LISTED = 50
const SCREEN = { note: 'Its screen lists all of them' }

export async function look(signal: AbortSignal) {
  const limit = LISTED
  const [alerts, silences, circuits, groups, redrives, webhooks] = await Promise.all([
    api.alerts.list({ state: 'firing' }, signal),
    api.alerts.silences(signal),
    api.circuits.list({ state: ['open', 'half-open'], limit }, signal),
    api.dead.groups({ unresolved: true, limit }, signal),
    api.redrives.list({ state: ['stopped', 'canary', 'running'], limit }, signal),
    api.webhooks.list({ state: 'disabled', limit }, signal),
  ])
  return { alerts: alerts.data, silences: silences.data, circuits, groups, redrives, webhooks }
}

/** Worst first. */
export function itemsOf({
  queues,
  alerts,
  silences,
  circuits,
  groups,
  redrives,
  webhooks,
  stats,
}: Around): readonly Item[] {
  /** An alert already reports it. */
  const isReported = (rule: string, labels: Labels): boolean =>
    alerts.some(
      alert => alert.rule === rule && Object.entries(labels).every(([name, value]) => alert.labels[name] === value),
    )
  return [
    // A silenced alert is known, and needs no attention.
    ...byRule(alerts.filter(alert => silenceOf(alert, silences, serverNow()) === undefined)).map(alertItem),
    ...queues.filter(({ name }) => !isReported('no-workers', { queue: name })).flatMap(queueItem),
    ...stats.unhandled.filter(({ queue, name }) => !isReported('no-handler', { queue, name })).map(unhandledItem),
    ...silentWorkers(stats),
    ...circuits.data
      .filter(({ key, tenantId }) => !isReported('circuit-open', present({ circuit: key, tenant: tenantId })))
      .map(circuitItem),
    ...moreOf(circuits, 'circuits are open', 'dependencies', '/dependencies'),
    ...webhooks.data.filter(({ id }) => !isReported('endpoint-disabled', { endpoint: id })).map(webhookItem),
    ...moreOf(webhooks, 'webhook endpoints are disabled', 'webhooks', '/webhooks'),
    ...redrives.data.filter(hasStopped).map(redriveItem),
    ...groups.data.map(groupItem),
    ...moreGroups(groups),
    ...redrives.data.filter(redrive => !hasStopped(redrive)).map(redriveItem),
    ...moreOf(redrives, 'redrives are running or have stopped', 'redrive', '/redrives'),
  ]
}

function circuitItem({ key, tenantId, reason }: CircuitView): Item {
  return {
    key: `circuit ${key} ${tenantId ?? ''}`,
    icon: 'dependencies',
    hue: 'retry',
    title: `The circuit of ${key}${tenantId === undefined ? '' : ` for ${tenantId}`} is open`,
    note: reason ?? 'Jobs wait and lose no attempt',
    to: href('/dependencies', { q: key }),
  }
}

function webhookItem(endpoint: EndpointView): Item {
  const { id, disabledReason } = endpoint
  return {
    key: id,
    icon: 'webhooks',
    hue: 'retry',
    title: `The webhook to ${endpointHost(endpoint)} is disabled`,
    note: (disabledReason && DISABLED_WHY[disabledReason]) ?? '',
    to: pageOf('webhooks', id),
  }
}

const hasStopped = ({ state }: RedriveView): boolean => state === 'stopped'

function redriveItem(redrive: RedriveView): Item {
  const { id, started, total, why } = redrive
  return {
    key: id,
    icon: 'redrive',
    hue: hasStopped(redrive) ? 'dead' : 'run',
    title: hasStopped(redrive) ? 'A redrive has stopped' : 'A redrive is running',
    note: why ?? `${count(started)} of ${count(total)} started`,
    to: pageOf('redrives', id),
  }
}

function groupItem({ fingerprint, title, dead, state, lastSeen }: ErrorGroupView): Item {
  return {
    key: fingerprint,
    icon: 'dead',
    hue: 'dead',
    title,
    note: `${plural(dead, 'dead job')}${state === 'regressed' ? ', regressed' : ''} · last ${relative(Date.parse(lastSeen), now.value)}`,
    to: pageOf('dead', fingerprint),
  }
}

function moreGroups({ data, page }: ErrorGroupList): readonly Item[] {
  const left = page.total - data.length
  const title = `${plural(left, 'more error has', 'more errors have')} dead letters`
  return left === 0 ? [] : [{ ...SCREEN, key: 'more errors', icon: 'dead', hue: 'dead', title, to: href('/dead') }]
}

function moreOf({ page }: List<unknown>, what: string, icon: IconName, screen: string): readonly Item[] {
  if (page.next === undefined) return []
  return [
    { ...SCREEN, key: `more ${icon}`, icon, hue: 'retry', title: `More than ${LISTED} ${what}`, to: href(screen) },
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
  const { rule, summary } = first!
  const since = Math.min(...alerts.map(alert => Date.parse(alert.since)))
  const names = alerts.map(({ labels }) => Object.values(labels)[0]).filter(name => name !== undefined)
  return {
    key: rule,
    icon: 'alerts',
    hue: alerts.some(({ severity }) => severity === 'critical') ? 'dead' : 'retry',
    title: alerts.length === 1 ? summary : `${rule}: ${plural(alerts.length, 'alert')}`,
    note: `${alerts.length === 1 ? rule : names.join(', ')} · for ${age(Math.max(0, now.value - since))}`,
    to: causeOf(alerts),
  }
}

function queueItem({ name, paused, hasWorkers, counts }: QueueReport): readonly Item[] {
  const { queued, retrying, blocked } = counts
  const waiting = sumOfCounts([queued, retrying, ...(paused ? [blocked] : [])])
  if (waiting.value === 0 || (!paused && hasWorkers)) return []
  return [
    {
      key: `queue ${name}`,
      icon: paused ? 'pause' : 'workers',
      hue: paused ? 'retry' : 'dead',
      title: paused ? `Queue ${name} is paused` : `Queue ${name} has no workers`,
      note: plural(waiting, 'job waits', 'jobs wait'),
      to: pageOf('queues', name),
    },
  ]
}

function unhandledItem({ queue, name, waiting, similar }: FleetStats['unhandled'][number]): Item {
  return {
    key: `unhandled ${queue} ${name}`,
    icon: 'workers',
    hue: 'dead',
    title: `No worker has a handler for ${name}`,
    note: `${plural(waiting.value, 'job waits', 'jobs wait')} in ${queue}${similar === undefined ? '' : `; did you mean ${similar}?`}`,
    to: href('/jobs', { state: 'queued', queue, name }),
  }
}

function silentWorkers({ workers }: FleetStats): readonly Item[] {
  if (workers.silent === 0) return []
  const title = `${plural(workers.silent, 'worker')} fell silent`
  const note = 'No heartbeat; their jobs are released'
  return [{ key: 'silent', icon: 'workers', hue: 'retry', title, note, to: href('/workers') }]
}
