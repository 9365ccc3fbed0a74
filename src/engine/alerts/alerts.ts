import {
  type AlertView,
  alertId,
  type Notice,
  type Notification,
  type Severity,
  SHOWN_STATES,
  viewAlert,
} from '../../core/alert/alert.js'
import {
  type AlertRule,
  alertRuleChanges,
  alertRules,
  parseRules,
  type RuleChanges,
  type RulesInput,
  type RuleView,
  viewRule,
} from '../../core/alert/settings.js'
import { parseSilence, type SilenceInput, type SilenceView, viewSilence } from '../../core/alert/silence.js'
import { timeText } from '../../core/job/view.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { about, type Infer, oneOf, read } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import type { NewJob, Store } from '../../store/store.js'
import type { Enqueuer } from '../client/enqueuer.js'
import type { Environment } from '../client/environment.js'
import type { Egress } from '../egress/egress.js'
import type { List } from '../jobs/query.js'
import { type Channel, channels, openChannels } from './channels.js'
import { ALERT_TAG } from './readings.js'
import { RULES, ruleRecords, rulesNow, SILENCE, SILENCES_MAX, storedAlerts, storedSilences } from './records.js'

const alertsOptions = object(
  {},
  {
    rules: about(
      alertRules,
      'Rules that are left out keep their defaults; `false` turns a rule off. Rules stored by `alerts.setRules` take precedence.',
    ),
    channels: about(channels, 'Channels besides the log, by name.'),
  },
)
export type AlertsOptions = Infer<typeof alertsOptions>

export const alertQuery = object({}, { state: oneOf(SHOWN_STATES) })
export type AlertQuery = Infer<typeof alertQuery>

export type { RuleChanges } from '../../core/alert/settings.js'

interface AlertsParts {
  readonly env: Environment
  readonly enqueuer: Enqueuer
  readonly egress: Egress
  readonly options: AlertsOptions | undefined
  /** Called when there is a delivery to send. */
  readonly onDelivery: () => void
}

const ORDER: Readonly<Record<AlertView['state'], number>> = { firing: 0, pending: 1, resolved: 2 }
const SEVERITIES: Readonly<Record<Severity, number>> = { critical: 0, warning: 1 }

/** `chronos.alerts`: alerts, their rules, silences and channels. */
export class Alerts {
  readonly #parts: AlertsParts
  readonly #env: Environment
  /** The rules that the code configures. */
  readonly base: readonly AlertRule[]
  readonly channels: readonly Channel[]
  /** The code configures alerts. */
  readonly isConfigured: boolean

  constructor(parts: AlertsParts) {
    this.#parts = parts
    this.#env = parts.env
    const { options = {}, egress } = parts
    this.isConfigured = parts.options !== undefined
    const given = read(alertsOptions, options, 'createChronos: alerts')
    this.base = parseRules(given.rules ?? {}, 'createChronos: alerts.rules')
    this.channels = openChannels(given.channels ?? {}, 'createChronos: alerts.channels', {
      egress,
      time: parts.env.time,
    })
  }

  /** Firing alerts first, then critical ones, then the newest. */
  async list(query: AlertQuery = {}): Promise<List<AlertView>> {
    const { state } = read(alertQuery, query, 'alerts.list:')
    const alerts = await storedAlerts(await this.#store())
    const views = [...alerts.values()].map(({ body }) => viewAlert(body))
    const data = views.filter(view => state === undefined || view.state === state)
    data.sort(
      (a, b) =>
        ORDER[a.state] - ORDER[b.state] ||
        SEVERITIES[a.severity] - SEVERITIES[b.severity] ||
        (a.since < b.since ? 1 : a.since > b.since ? -1 : 0),
    )
    return { data, page: {} }
  }

  /** The effective rules: stored settings, then the code's, then the defaults. */
  async rules(): Promise<readonly RuleView[]> {
    const rules = await rulesNow(this.#env, this.base)
    return rules.map(viewRule)
  }

  /** Changes rules for every process from the next evaluation on; rules that are left out stay. */
  async setRules(changes: RuleChanges): Promise<readonly RuleView[]> {
    read(alertRuleChanges, changes, 'alerts.setRules')
    const { body } = await ruleRecords(this.#env).change(RULES.id, old => {
      const next = merged(old ?? {}, changes)
      parseRules(next, 'alerts.setRules', this.base)
      return next
    })
    return parseRules(body, 'alerts.setRules', this.base).map(viewRule)
  }

  /** Active silences and those that ended less than a day ago, by end time, latest first. */
  async silences(): Promise<List<SilenceView>> {
    const silences = [...(await storedSilences(await this.#store()))].sort((a, b) => b.until - a.until)
    return { data: silences.map(viewSilence), page: {} }
  }

  /** Suppresses notifications of the alerts that match until the silence ends; the alerts themselves continue. */
  async silence(input: SilenceInput): Promise<SilenceView> {
    const store = await this.#store()
    const { now } = await store.info()
    const silence = parseSilence(input, this.#env.dice.id(now), now, 'silence')
    if ((await storedSilences(store)).length >= SILENCES_MAX) {
      throw new ChronosError('NOT_ALLOWED', `there are ${SILENCES_MAX} silences already; delete one first`)
    }
    await store.putRecords([{ kind: SILENCE, id: silence.id, body: JSON.stringify(silence), expect: 0 }])
    return viewSilence(silence)
  }

  async unsilence(id: string): Promise<void> {
    const store = await this.#store()
    const [record] = await store.records(SILENCE, { ids: [id] })
    if (!record) throw new ChronosError('NOT_FOUND', `there is no silence ${shown(id)}; alerts.silences() lists them`)
    await store.putRecords([{ kind: SILENCE, id, body: null }])
  }

  /** Sends a test through one channel or all of them. Returns their names. */
  async test(channel?: string): Promise<readonly string[]> {
    if (channel !== undefined) read(oneOf(this.#names()), channel, 'alerts.test: channel')
    const store = await this.#store()
    const { now } = await store.info()
    const notification = testOf(this.#env.dice.id(now), now)
    const channels = this.channels.filter(({ name }) => channel === undefined || name === channel)
    const jobs = await this.#jobs(notification, channels)
    if (jobs.length > 0) await store.enqueue(jobs)
    this.#env.log.info({ event: 'alert.test', channels: channels.map(({ name }) => name) }, 'testing alert channels')
    if (jobs.length > 0) this.#parts.onDelivery()
    return channels.map(({ name }) => name)
  }

  /**
   * The deliveries of a notification: to the channels of this process and to webhook endpoints that subscribe to the
   * event.
   */
  async deliveries(notification: Notification): Promise<readonly NewJob[]> {
    const channels = this.channels.filter(({ wants }) => wants(notification))
    const { notice, alert } = notification
    const { outbox } = this.#env
    const subscribed = outbox.deliveries({ type: eventOf(notification) }, { notice, ...alert })
    const quiet = subscribed.map(job => ({ ...job, tags: [...job.tags, ALERT_TAG] }))
    return [...(await this.#jobs(notification, channels)), ...quiet]
  }

  /** Logs and emits a notification after it was stored. */
  announce(notification: Notification): void {
    const { log, events } = this.#env
    const { notice, alert } = notification
    const { id: alertId, rule, labels, severity, value, summary, since } = alert
    const event = eventOf(notification)
    const facts = { event, notice, alertId, rule, labels, severity, value, summary, since }
    if (event === 'alert.resolved') log.info(facts, 'alert resolved')
    else if (severity === 'critical') log.error(facts, 'alert firing')
    else log.warn(facts, 'alert firing')
    if (event === 'alert.resolved') events.emit('alert.resolved', { alert })
    else events.emit('alert.firing', { alert, isRepeat: notice === 'repeat' })
    this.#env.outbox.wake()
    if (this.channels.length > 0) this.#parts.onDelivery()
  }

  #jobs(notification: Notification, channels: readonly Channel[]): Promise<NewJob[]> {
    const { enqueuer } = this.#parts
    return Promise.all(
      channels.map(({ job }) => enqueuer.prepare(job as JobReference, notification, { key: notification.id })),
    )
  }

  #names(): readonly string[] {
    return this.channels.map(({ name }) => name)
  }

  #store(): Promise<Store> {
    return this.#env.connection.store()
  }
}

type JobReference = Parameters<Enqueuer['prepare']>[0]

const eventOf = ({ notice }: { readonly notice: Notice | 'test' }): 'alert.firing' | 'alert.resolved' =>
  notice === 'resolved' ? 'alert.resolved' : 'alert.firing'

/** Settings of one rule are merged; `false` and null replace them. */
function merged(old: RulesInput, changes: RuleChanges): RulesInput {
  const next: Record<string, unknown> = { ...old }
  for (const [name, change] of Object.entries(changes)) {
    const before = next[name]
    if (change === undefined) continue
    if (change === null) delete next[name]
    else next[name] = typeof change === 'object' && typeof before === 'object' ? { ...before, ...change } : change
  }
  return next as RulesInput
}

function testOf(id: string, now: number): Notification {
  const labels = { queue: 'test' }
  const summary = 'this is a test notification; nothing is wrong'
  const since = timeText(now)
  const seen = { rule: 'dead-letters', labels, severity: 'warning', value: 0, unit: 'count', summary } as const
  const alert: AlertView = { id: alertId('dead-letters', labels), ...seen, state: 'firing', since, firedAt: since }
  return { id: `alert_test_${id}`, notice: 'test', at: now, alert }
}
