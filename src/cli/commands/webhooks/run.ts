import type { JobView } from '../../../core/job/view.js'
import { present } from '../../../core/values/present.js'
import type { Rate } from '../../../core/values/rate.js'
import type { EndpointView, WebhookEvent } from '../../../core/webhook/webhook.js'
import { act } from '../../act.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Field, list, NONE, type PageOptions, pageOf } from '../../list.js'
import { brief, relative } from '../../output/moment.js'
import type { Cell } from '../../output/print.js'
import { many } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { readPolicy } from '../enqueue/payload.js'

const WEBHOOK_FIELDS: readonly Field<EndpointView>[] = [
  { title: 'Id', cell: ({ id }) => id },
  { title: 'State', cell: stateCell },
  { title: 'URL', wraps: true, cell: ({ url }) => oneLine(url) },
  { title: 'Events', wraps: true, cell: ({ events }) => events.join(', ') },
  { title: 'Only', wraps: true, cell: webhook => onlyWords(webhook) || NONE },
]

function stateCell({ state, disabledReason, failingSince }: EndpointView, now: number): Cell {
  if (state === 'disabled') return { text: `disabled (${disabledReason})`, tone: 'bad' }
  if (failingSince === undefined) return state
  return { text: `failing for ${brief(now - Date.parse(failingSince))}`, tone: 'warn' }
}

function onlyWords({ queues, names, tenantId }: EndpointView): string {
  const words = [
    queues && `queue ${queues.join(', ')}`,
    names && `job ${names.join(', ')}`,
    tenantId !== undefined && `tenant ${oneLine(tenantId)}`,
  ]
  return words.filter(word => typeof word === 'string').join('; ')
}

export function listWebhooks(options: BackendOptions & PageOptions, io: Io): Promise<void> {
  const read = ({ webhooks }: Backend) => webhooks.list(pageOf(options))
  return list({ noun: 'webhook endpoint', read, text: WEBHOOK_FIELDS }, options, io)
}

const DELIVERY_FIELDS: readonly Field<JobView>[] = [
  { title: 'Delivery', cell: ({ id }) => id },
  {
    title: 'Event',
    cell: ({ payload }) => oneLine(String((payload as { readonly type?: unknown } | null)?.type ?? '-')),
  },
  {
    title: 'State',
    cell: ({ phase, reason }) => (reason === undefined ? phase : { text: `${phase} (${reason})`, tone: 'bad' }),
  },
  { title: 'Attempts', align: 'right', cell: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}` },
  { title: 'Created', cell: ({ createdAt }, now) => relative(createdAt, now) },
  { title: 'Last error', wraps: true, cell: ({ error }) => (error ? oneLine(error.message) : NONE) },
]

interface DeliveryFlags extends BackendOptions, PageOptions {
  readonly state?: string
}

export function listDeliveries(id: string, options: DeliveryFlags, io: Io): Promise<void> {
  // The engine checks whether it is a state.
  const state = options.state as JobView['state'] | undefined
  const read = ({ webhooks }: Backend) => webhooks.deliveries(id, present({ ...pageOf(options), state }))
  return list({ noun: 'delivery', nouns: 'deliveries', read, text: DELIVERY_FIELDS }, options, io)
}

interface CreateFlags extends BackendOptions {
  readonly event: readonly string[]
  readonly queue?: readonly string[]
  readonly name?: readonly string[]
  readonly tenant?: string
  readonly retry?: string
}

/** Works on a new store. */
export function createWebhook(url: string, flags: CreateFlags, io: Io): Promise<void> {
  const { event, queue, name, tenant, retry } = flags
  const input = present({
    url,
    // The engine checks their names.
    events: event as readonly WebhookEvent[],
    queues: queue,
    names: name,
    tenantId: tenant,
    retry: retry === undefined ? undefined : readPolicy(retry, '--retry'),
  })
  return act(flags, io, ({ webhooks }) => webhooks.create(input), {
    text: ({ secret }) => secret,
    note: ({ id }) => `created webhook endpoint ${id}; its secret is not shown again`,
    need: 'any',
  })
}

export function rotateSecret(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ webhooks }) => webhooks.rotateSecret(id), {
    text: ({ secret }) => secret,
    note: () => 'messages are signed with the old and the new secret for one day',
  })
}

export function testWebhook(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ webhooks }) => webhooks.test(id), {
    text: delivery => delivery.id,
    note: () => 'a running worker sends it',
  })
}

const stateLine = ({ id, state }: EndpointView): string => `webhook endpoint ${oneLine(id)} is ${state}`

export function enableWebhook(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ webhooks }) => webhooks.enable(id), { text: stateLine })
}

export function disableWebhook(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ webhooks }) => webhooks.disable(id), { text: stateLine })
}

export function deleteWebhook(id: string, options: BackendOptions, io: Io): Promise<void> {
  const remove = async ({ webhooks }: Backend) => {
    await webhooks.delete(id)
    return { id, deleted: true }
  }
  return act(options, io, remove, { text: () => `webhook endpoint ${oneLine(id)} is deleted` })
}

interface RecoverFlags extends BackendOptions {
  readonly since: Date | string
  readonly rate?: Rate
}

export function recover(id: string, options: RecoverFlags, io: Io): Promise<void> {
  const { since, rate } = options
  return act(options, io, ({ webhooks }) => webhooks.recover(id, present({ since, rate })), {
    text: redrive => redrive.id,
    note: redrive => {
      const count = many(redrive.total.value, 'delivery', 'deliveries')
      return `redriving ${count}; follow it with \`chronos redrives get ${redrive.id} --follow\``
    },
  })
}
