import { headline, type Notification } from '../../core/alert/alert.js'
import { RULE_NAMES } from '../../core/alert/rules.js'
import { ruleName } from '../../core/alert/settings.js'
import { HttpError } from '../../core/failure/http-error.js'
import { knownAnswer } from '../../core/failure/known-failures.js'
import { url, urlOf } from '../../core/http/request.js'
import { timeText } from '../../core/job/view.js'
import { about, flaw, type Infer, inCode, oneOf, pattern, read, refuse, schema } from '../../core/values/schema.js'
import { list, object, record, union, variants } from '../../core/values/shape.js'
import { DELIVERIES } from '../../core/webhook/delivery.js'
import { messageBody } from '../../core/webhook/message.js'
import { defineJob, type JobDefinition } from '../client/definition.js'
import type { Egress } from '../egress/egress.js'
import type { StoreTime } from '../time/store-time.js'
import { sign } from '../webhooks/signature.js'
import { type MailTransport, openMail, smtp } from './mail.js'
import { ALERT_JOB, ALERT_TAG } from './readings.js'

const channelName = pattern(
  64,
  /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/,
  '1 to 64 letters, digits or . _ : / - that begin with a letter or digit',
)

/** The error does not show the value. */
const secret = schema<string>({
  kinds: ['string'],
  expects: '"whsec_" and at least 16 bytes in base64',
  check(given) {
    const bytes = typeof given === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(given) : null
    if (bytes && Buffer.from(bytes[1]!, 'base64').length >= 16) return given as string
    throw flaw(`expected ${secret.expects}, got something else`)
  },
})

// A line break would start another header.
const address = pattern(320, /^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, 'an address such as ops@example.com')
const RECEIVERS_MAX = 50
const receivers = list(address, {
  min: 1,
  max: RECEIVERS_MAX,
  of: 'addresses',
  empty: `expected 1 to ${RECEIVERS_MAX} addresses, got 0`,
})

const wanted = {
  rules: about(list(ruleName, { max: RULE_NAMES.length, of: 'rules' }), 'Only alerts of these rules. Default: all.'),
  severity: about(oneOf(['warning', 'critical']), '`critical`: only critical alerts.'),
}

/**
 * How to reach people. `webhook` is signed by Standard Webhooks; `slack` is the format of Slack and compatible
 * services.
 */
const channel = variants('type', {
  webhook: object({ url, secret }, wanted),
  slack: object({ url }, wanted),
  email: object(
    { from: address, to: union(address, receivers) },
    {
      smtp,
      transport: inCode<MailTransport>(
        'an object with sendMail, as nodemailer makes it',
        given => typeof (given as { readonly sendMail?: unknown } | null)?.sendMail === 'function',
      ),
      ...wanted,
    },
  ),
})

export type ChannelOptions = Infer<typeof channel>
type Email = Extract<ChannelOptions, { readonly type: 'email' }>

export const channels = record(channel, { max: 20, of: 'channels' })

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

const SEND_MS = 15_000
const ANSWER_MAX_BYTES = 4 * 1024
const SUBJECT_MAX = 200

export function openChannels(
  given: Readonly<Record<string, ChannelOptions>>,
  where: string,
  means: ChannelMeans,
): readonly Channel[] {
  return Object.entries(given).map(([name, options]) => openChannel(name, options, where, means))
}

function openChannel(name: string, options: ChannelOptions, parent: string, means: ChannelMeans): Channel {
  read(channelName, name, `${parent}: the name of a channel`)
  const notifier = notifierOf(options, `${parent}.${name}`, means)
  return {
    name,
    type: options.type,
    wants: ({ notice, alert }) =>
      notice === 'test' ||
      ((options.rules?.includes(alert.rule) ?? true) &&
        (options.severity !== 'critical' || alert.severity === 'critical')),
    job: defineJob<Notification, void>({
      name: `${ALERT_JOB}${name}`,
      queue: DELIVERIES,
      partition: `${ALERT_JOB}${name}`,
      priority: 9,
      tags: [ALERT_TAG],
      retry: 'webhook',
      maxElapsed: '24h',
      timeout: '1m',
      run: (notification, job) => notifier.notify(notification, job.signal),
    }),
  }
}

function notifierOf(options: ChannelOptions, where: string, { egress, time }: ChannelMeans): Notifier {
  if (options.type === 'email') return emailChannel(options, where)
  const { href } = urlOf(options.url)
  if (options.type === 'slack') {
    return {
      notify: (notification, signal) =>
        post(egress, href, {}, JSON.stringify({ text: slackText(headline(notification)) }), signal),
    }
  }
  return {
    notify({ id, notice, at, alert }, signal) {
      const type = notice === 'resolved' ? 'alert.resolved' : 'alert.firing'
      const body = messageBody(type, at, { notice, ...alert })
      return post(egress, href, sign(id, time.now(), body, [options.secret]), body, signal)
    },
  }
}

/** The text contains names of queues and errors, which must not mention people or contain links. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function emailChannel({ from, to, smtp: server, transport: given }: Email, where: string): Notifier {
  if ((given === undefined) === (server === undefined)) {
    throw refuse([], 'give smtp (an address) or transport (with sendMail), one of them', where, 'INVALID_OPTION')
  }
  let transport: Promise<MailTransport> | undefined
  return {
    async notify(notification) {
      const { sendMail } = await transportOf()
      const subject = headline(notification).replaceAll(/\s+/g, ' ').slice(0, SUBJECT_MAX)
      const messageId = `<${notification.id}@${from.replace(/^.*@|>$/g, '')}>`
      await sendMail({ from, to: [to].flat(), subject, text: mailText(notification), messageId })
    },
  }

  async function transportOf(): Promise<MailTransport> {
    if (given) return { sendMail: mail => given.sendMail(mail) }
    transport ??= openMail(new URL(server!))
    // A failure to open is not cached: the next attempt tries again.
    const opened = await transport.catch(error => {
      transport = undefined
      throw error
    })
    return { sendMail: mail => opened.sendMail(mail) }
  }
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
