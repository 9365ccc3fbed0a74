import {
  type Alert,
  advance,
  type Notification,
  notificationOf,
  type Reading,
  relevantReadings,
} from '../../core/alert/alert.js'
import type { AlertRule } from '../../core/alert/settings.js'
import { isSilenced, type Silence } from '../../core/alert/silence.js'
import type { FleetEvent } from '../../core/incident/event.js'
import { DAY_MS } from '../../core/values/duration.js'
import type { Firing, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { keepEvents } from '../incident/events.js'
import type { Stored } from '../records/records.js'
import type { Alerts } from './alerts.js'
import { type Readings, readAll } from './readings.js'
import { ALERT, ALERTS_MAX, rulesNow, SILENCE, storedAlerts, storedSilences } from './records.js'

/** The time of the last evaluation, so that only one of many processes evaluates. */
const TURN = { kind: 'alert-turn', id: 'all' } as const
/**
 * A process that does not configure alerts leaves them to those that do, if one of them evaluated within this many
 * intervals.
 */
const CONFIGURED_LOOKS = 3
const TURN_TRIES = 3
const NOT_READY_MS = 100
const FOLD_BATCH = 500
const FOLDS_MAX = 20
/** An ended silence is kept for this long. */
const SILENCE_KEPT_MS = DAY_MS

interface Turn {
  readonly at: number
  /** The last evaluation by a process that configures alerts. */
  readonly configuredAt?: number
}

export interface EvaluatorOptions {
  readonly env: Environment
  readonly everyMs: number
  readonly alerts: Pick<Alerts, 'base' | 'isConfigured' | 'deliveries' | 'announce'>
}

/** An alert before and after an evaluation, and its notification. */
interface Change {
  readonly id: string
  readonly version: number
  readonly before: Alert | undefined
  readonly alert: Alert | undefined
  readonly notification: Notification | undefined
}

/**
 * Evaluates the rules and stores the result. Any number of processes may do so: the one whose compare-and-set of an
 * alert succeeds has decided it, and the deliveries are stored in the same transaction.
 */
export class AlertEvaluator {
  readonly #options: EvaluatorOptions
  readonly #env: Environment

  constructor(options: EvaluatorOptions) {
    this.#options = options
    this.#env = options.env
  }

  async step(): Promise<number> {
    const { everyMs } = this.#options
    // The endpoints are not known yet; waiting here would delay closing this process.
    if (!this.#env.outbox.isReady) return NOT_READY_MS
    const store = await this.#env.connection.store()
    const { now } = await store.info()
    const waitMs = await this.#takeTurn(store, now)
    if (waitMs > 0) return waitMs
    await this.#look(store, now)
    return everyMs
  }

  /** Returns 0 if it is this process's turn, otherwise when to ask again. */
  async #takeTurn(store: Store, now: number): Promise<number> {
    const { everyMs, alerts } = this.#options
    const { isConfigured } = alerts
    for (let tries = 0; tries < TURN_TRIES; tries++) {
      const [record] = await store.records(TURN.kind, { ids: [TURN.id] })
      const turn: Turn | undefined = record && (JSON.parse(record.body) as Turn)
      const { at = -Infinity, configuredAt = -Infinity } = turn ?? {}
      // A process that configures alerts ignores evaluations by processes that do not.
      const dueAt = isConfigured
        ? configuredAt + everyMs
        : Math.max(at + everyMs, configuredAt + CONFIGURED_LOOKS * everyMs)
      if (now < dueAt) return dueAt - now
      const taken: Turn = isConfigured ? { at: now, configuredAt: now } : { ...turn, at: now }
      const [put] = await store.putRecords([{ ...TURN, body: JSON.stringify(taken), expect: record?.version ?? 0 }])
      if (put!.status === 'written') return 0
    }
    return everyMs
  }

  async #look(store: Store, now: number): Promise<void> {
    // Fold pending deltas first, so that the newest events are counted.
    for (let folds = 0; folds < FOLDS_MAX; folds++) if ((await store.fold(FOLD_BATCH)) < FOLD_BATCH) break
    const rules = await rulesNow(this.#env, this.#options.alerts.base)
    // Read at the same moment, so that a store can answer these reads at once.
    const [alerts, silences, readings] = await Promise.all([
      storedAlerts(store),
      storedSilences(store),
      readAll(store, rules, now),
    ])
    const changes = this.#changes(rules, readings, alerts, silences, now)
    await this.#write(store, changes, now)
    await forgetSilences(store, silences, now)
  }

  #changes(
    rules: readonly AlertRule[],
    readings: Readings,
    alerts: ReadonlyMap<string, Stored<Alert>>,
    silences: readonly Silence[],
    now: number,
  ): readonly Change[] {
    const changes = new Map<string, Change>()
    const resolved = [...alerts.values()].filter(({ body }) => !isLive(body))
    let room = ALERTS_MAX - alerts.size + resolved.length
    let hasMore = false
    for (const rule of rules) {
      const own = [...alerts].filter(([, { body }]) => body.rule === rule.name)
      const known = new Map(own.map(([id, { body }]) => [id, body]))
      const { seen, isFull } = relevantReadings(rule, readings.get(rule.name) ?? [], known, room)
      hasMore ||= isFull
      for (const id of new Set([...known.keys(), ...seen.keys()])) {
        const change = this.#change(rule, id, alerts.get(id), seen.get(id), silences, now)
        if (change === undefined) continue
        if (!isLive(alerts.get(id)?.body) && isLive(change.alert)) room--
        changes.set(id, change)
      }
    }
    if (hasMore) this.#env.log.warn({ event: 'alerts.too-many', max: ALERTS_MAX }, 'too many alerts, ignoring new ones')
    for (const { id, version, body: before } of crowdedOut(alerts.size, resolved, changes))
      changes.set(id, { id, version, before, alert: undefined, notification: undefined })
    return [...changes.values()]
  }

  #change(
    rule: AlertRule,
    id: string,
    stored: Stored<Alert> | undefined,
    reading: Reading | undefined,
    silences: readonly Silence[],
    now: number,
  ): Change | undefined {
    const old = stored?.body
    const was = { id, version: stored?.version ?? 0, before: old }
    // Turning a rule off ends its alerts without a notification.
    if (!rule.enabled) return old && { ...was, alert: undefined, notification: undefined }
    const labels = reading?.labels ?? old!.labels
    const look = {
      now,
      everyMs: this.#options.everyMs,
      isSilenced: isSilenced({ rule: rule.name, labels }, silences, now),
    }
    const { alert, notice } = advance(old, reading, rule, look)
    if (alert === old) return undefined
    return { ...was, alert, notification: alert && notice && notificationOf(alert, notice, now) }
  }

  async #write(store: Store, changes: readonly Change[], now: number): Promise<void> {
    if (changes.length === 0) return
    const firings: Firing[] = []
    for (const { id, version, alert, notification } of changes) {
      const body = alert === undefined ? null : JSON.stringify(alert)
      const jobs = notification === undefined ? [] : await this.#options.alerts.deliveries(notification)
      firings.push({ record: { kind: ALERT, id, body, expect: version }, jobs })
    }
    const fired = await store.fire(firings)
    const written = changes.filter((_, index) => fired[index]!.status === 'written')
    await keepEvents(
      this.#env,
      written.flatMap(change => eventOf(change, now)),
    )
    for (const { notification } of written) if (notification) this.#options.alerts.announce(notification)
  }
}

const isLive = (alert: Alert | undefined): boolean => alert !== undefined && alert.state !== 'inactive'

/** Resolved alerts are kept to be looked up. The oldest make room for new ones, those that rise again last. */
function crowdedOut(
  size: number,
  resolved: readonly Stored<Alert>[],
  changes: ReadonlyMap<string, Change>,
): readonly Stored<Alert>[] {
  const added = [...changes.values()].filter(({ version }) => version === 0).length
  const excess = size + added - ALERTS_MAX
  if (excess <= 0) return []
  const rises = ({ id }: Stored<Alert>): number => Number(isLive(changes.get(id)?.alert))
  const endedAt = ({ body: { resolvedAt = 0 } }: Stored<Alert>): number => resolvedAt
  return [...resolved].sort((a, b) => rises(a) - rises(b) || endedAt(a) - endedAt(b)).slice(0, excess)
}

/** What happened to the alert, whether it is silenced or not. */
function eventOf({ before, alert: after }: Change, at: number): readonly FleetEvent[] {
  const isFiring = after?.state === 'firing'
  if ((before?.state === 'firing') === isFiring) return []
  const { id: alertId, rule, labels, severity, summary } = (after ?? before)!
  return [{ type: isFiring ? 'alert-fired' : 'alert-resolved', at, alertId, rule, labels, severity, summary }]
}

async function forgetSilences(store: Store, silences: readonly Silence[], now: number): Promise<void> {
  const over = silences.filter(({ until }) => until < now - SILENCE_KEPT_MS)
  if (over.length > 0) await store.putRecords(over.map(({ id }) => ({ kind: SILENCE, id, body: null })))
}
