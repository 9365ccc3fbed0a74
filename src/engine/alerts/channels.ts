import { headline, type Notification, type Severity } from '../../core/alert/alert.js'
import { RULE_NAMES, type RuleName } from '../../core/alert/rules.js'
import { HttpError } from '../../core/failure/http-error.js'
import { knownAnswer } from '../../core/failure/known-failures.js'
import { timeText } from '../../core/job/view.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { checkName, checkText, checkWord } from '../../core/values/limits.js'
import { type Form, readForm } from '../../core/values/options-reader.js'
import { messageBody } from '../../core/webhook/message.js'
import { DELIVERIES, webhookUrl } from '../../core/webhook/webhook.js'
import { defineJob, type JobDefinition } from '../client/definition.js'
import type { Egress } from '../egress/egress.js'
import type { StoreTime } from '../time/store-time.js'
import { sign } from '../webhooks/signature.js'
import { type MailTransport, openMail, parseSmtp } from './mail.js'
import { ALERT_JOB, ALERT_TAG } from './readings.js'

/** The alerts that a channel takes; by default all. */
interface Wanted {
  readonly rules?: readonly RuleName[]
  /** `critical`: only critical alerts. */
  readonly severity?: Severity
}

/**
 * How to reach people. `webhook` is signed by Standard Webhooks; `slack` is the format of Slack and compatible
 * services.
 */
export type ChannelOptions =
  | (Wanted & { readonly type: 'webhook'; readonly url: string; readonly secret: string })
  | (Wanted & { readonly type: 'slack'; readonly url: string })
  | (Wanted & { readonly type: 'email'; readonly from: string; readonly to: string | readonly string[] } & (
        | { readonly smtp: string; readonly transport?: undefined }
        | { readonly transport: MailTransport; readonly smtp?: undefined }
      ))

/** Sends one notification; an error is a failed attempt of its delivery. */
export interface Notifier {
  notify(notification: Notification, signal: AbortSignal): Promise<void>
}

export interface Channel {
  readonly name: string
  readonly type: ChannelOptions['type']
  /** Deliveries are jobs and are retried like any webhook delivery. */
  readonly job: JobDefinition<Notification>
  wants(notification: Notification): boolean
}

export interface ChannelMeans {
  readonly egress: Egress
  readonly time: StoreTime
}

const TYPES: readonly ChannelOptions['type'][] = ['webhook', 'slack', 'email']
const CHANNELS_MAX = 20
const NAME_MAX = 64
const RECEIVERS_MAX = 50
const SEND_MS = 15_000
const ANSWER_MAX_BYTES = 4 * 1024
const SUBJECT_MAX = 200

export function parseChannels(input: unknown, where: string, means: ChannelMeans): readonly Channel[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new ChronosError('INVALID_OPTION', `${where}: expected an object of channels by name, got ${shown(input)}`)
  }
  const entries = Object.entries(input)
  if (entries.length > CHANNELS_MAX) {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}: expected at most ${CHANNELS_MAX} channels, got ${entries.length}`,
    )
  }
  return entries.map(([name, options]) => parseChannel(name, options, where, means))
}

function parseChannel(name: string, options: unknown, parent: string, means: ChannelMeans): Channel {
  checkName(name, `${parent}: the name of a channel`)
  checkText(name, `${parent}: the name of a channel`, NAME_MAX)
  const where = `${parent}.${name}`
  const { type } = (options ?? {}) as { readonly type?: unknown }
  checkWord(type, TYPES, `${where}.type`)
  const [own, open] = KINDS[type as ChannelOptions['type']]
  const form = readForm(options, where, ['type', 'rules', 'severity', ...own], 'INVALID_OPTION')
  const notifier = open(form, where, means)
  return {
    name,
    type: type as ChannelOptions['type'],
    wants: wanted(form, where),
    job: defineJob<Notification, void>({
      name: `${ALERT_JOB}${name}`,
      queue: DELIVERIES,
      priority: 9,
      tags: [ALERT_TAG],
      retry: 'webhook',
      maxElapsed: '24h',
      timeout: '1m',
      run: (notification, job) => notifier.notify(notification, job.signal),
    }),
  }
}

function wanted(form: Form, where: string): (notification: Notification) => boolean {
  const [rules, severity] = [form.get('rules'), form.get('severity')]
  if (rules !== undefined && !Array.isArray(rules)) {
    throw new ChronosError('INVALID_OPTION', `${where}.rules: expected a list of rules, got ${shown(rules)}`)
  }
  const names = rules as readonly unknown[] | undefined
  for (const rule of names ?? []) checkWord(rule, RULE_NAMES, `${where}.rules`)
  if (severity !== undefined) checkWord(severity, ['warning', 'critical'], `${where}.severity`)
  return ({ notice, alert }) =>
    notice === 'test' ||
    ((names === undefined || names.includes(alert.rule)) && (severity !== 'critical' || alert.severity === 'critical'))
}

type Open = (form: Form, where: string, means: ChannelMeans) => Notifier

const KINDS: Readonly<Record<ChannelOptions['type'], readonly [keys: readonly string[], open: Open]>> = {
  webhook: [['url', 'secret'], webhookChannel],
  slack: [['url'], slackChannel],
  email: [['from', 'to', 'smtp', 'transport'], emailChannel],
}

function webhookChannel(form: Form, where: string, { egress, time }: ChannelMeans): Notifier {
  const url = webhookUrl(form.get('url'), `${where}.url`)
  const secret = checkedSecret(form.get('secret'), `${where}.secret`)
  return {
    notify({ id, notice, at, alert }, signal) {
      const type = notice === 'resolved' ? 'alert.resolved' : 'alert.firing'
      const body = messageBody(type, at, { notice, ...alert })
      return post(egress, url, sign(id, time.now(), body, [secret]), body, signal)
    },
  }
}

function checkedSecret(value: unknown, where: string): string {
  const bytes = typeof value === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) : null
  if (bytes && Buffer.from(bytes[1]!, 'base64').length >= 16) return value as string
  throw new ChronosError(
    'INVALID_OPTION',
    `${where}: expected "whsec_" and at least 16 bytes in base64, got something else`,
  )
}

function slackChannel(form: Form, where: string, { egress }: ChannelMeans): Notifier {
  const url = webhookUrl(form.get('url'), `${where}.url`)
  return {
    notify: (notification, signal) =>
      post(egress, url, {}, JSON.stringify({ text: slackText(headline(notification)) }), signal),
  }
}

/** The text contains names of queues and errors, which must not mention people or contain links. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function emailChannel(form: Form, where: string): Notifier {
  const [from, smtp] = [form.get('from'), form.get('smtp')]
  checkAddress(from, `${where}.from`)
  const to = [form.get('to')].flat()
  if (to.length === 0 || to.length > RECEIVERS_MAX) {
    throw new ChronosError('INVALID_OPTION', `${where}.to: expected 1 to ${RECEIVERS_MAX} addresses, got ${to.length}`)
  }
  for (const address of to) checkAddress(address, `${where}.to`)
  const given = form.get('transport') as MailTransport | undefined
  if ((given === undefined) === (smtp === undefined)) {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}: give smtp (an address) or transport (with sendMail), one of them`,
    )
  }
  if (given !== undefined && typeof given.sendMail !== 'function') {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}.transport: expected an object with sendMail, as nodemailer makes it`,
    )
  }
  const url = smtp === undefined ? undefined : parseSmtp(smtp, `${where}.smtp`)
  let transport: Promise<MailTransport> | undefined
  return {
    async notify(notification) {
      const { sendMail } = await transportOf()
      const subject = headline(notification).replaceAll(/\s+/g, ' ').slice(0, SUBJECT_MAX)
      const messageId = `<${notification.id}@${from.replace(/^.*@|>$/g, '')}>`
      await sendMail({ from, to: to as string[], subject, text: mailText(notification), messageId })
    },
  }

  async function transportOf(): Promise<MailTransport> {
    if (given) return { sendMail: mail => given.sendMail(mail) }
    transport ??= openMail(url!)
    // A failure to open is not cached: the next attempt tries again.
    const opened = await transport.catch(error => {
      transport = undefined
      throw error
    })
    return { sendMail: mail => opened.sendMail(mail) }
  }
}

/** A line break would start another header. */
function checkAddress(value: unknown, where: string): asserts value is string {
  checkText(value, where, 320)
  if (/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/.test(value)) return
  throw new ChronosError('INVALID_OPTION', `${where}: expected an address such as ops@example.com, got ${shown(value)}`)
}

function mailText({ alert, at, notice }: Notification): string {
  const labels = Object.entries(alert.labels).map(([label, value]) => `${label}: ${value}`)
  return [
    alert.summary,
    '',
    `rule: ${alert.rule}`,
    ...labels,
    `severity: ${alert.severity}`,
    `since: ${alert.since}`,
    `${notice === 'resolved' ? 'resolved' : 'sent'}: ${timeText(at)}`,
    `id: ${alert.id}`,
    '',
  ].join('\n')
}

async function post(egress: Egress, url: string, headers: object, body: string, signal: AbortSignal): Promise<void> {
  const answer = await egress.send({
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'chronos-jobs' },
    body,
    timeoutMs: SEND_MS,
    bodyMaxBytes: ANSWER_MAX_BYTES,
    // The URL is in the configuration, and the operator may reach internal hosts.
    trust: 'trusted',
    signal,
  })
  const { status } = answer
  if (status >= 200 && status < 300) return
  const retryAfter = answer.headers['retry-after']
  // The path of such a URL is a secret.
  throw new HttpError(`POST ${new URL(url).origin} answered ${status}`, {
    kind: knownAnswer({ status, retryAfter: retryAfter !== undefined })?.kind ?? 'permanent',
    status,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  })
}
