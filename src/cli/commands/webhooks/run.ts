import { readFile } from 'node:fs/promises'
import { shownUrl } from '../../../core/http/shown-url.js'
import type { JobView } from '../../../core/job/view.js'
import { present } from '../../../core/values/present.js'
import type { Rate } from '../../../core/values/rate.js'
import type { EndpointView, WebhookEvent } from '../../../core/webhook/webhook.js'
import { act } from '../../act.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Field, type Listing, NONE, type PageOptions, pageOf } from '../../list.js'
import { brief, relative } from '../../output/moment.js'
import type { Cell } from '../../output/print.js'
import { oneLine } from '../../output/width.js'
import { readPolicy } from '../enqueue/payload.js'

const WEBHOOK_FIELDS: readonly Field<EndpointView>[] = [
  { title: 'Id', cell: ({ id }) => id },
  { title: 'State', cell: stateCell },
  { title: 'URL', wraps: true, cell: ({ url }) => oneLine(shownUrl(url)) },
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

interface WebhooksOptions extends PageOptions {
  readonly state?: EndpointView['state']
}

export const WEBHOOKS: Listing<EndpointView, [WebhooksOptions]> = {
  noun: 'webhook endpoint',
  read: ({ webhooks }, { state, ...page }) => webhooks.list({ ...pageOf(page), ...present({ state }) }),
  text: WEBHOOK_FIELDS,
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

interface DeliveryFlags extends PageOptions {
  /** The engine checks whether it is a state. */
  readonly state?: JobView['state']
}

export const DELIVERIES: Listing<JobView, [id: string, options: DeliveryFlags]> = {
  noun: 'delivery',
  nouns: 'deliveries',
  read: ({ webhooks }, id, { state, ...options }) => webhooks.deliveries(id, present({ ...pageOf(options), state })),
  text: DELIVERY_FIELDS,
}

interface CreateFlags extends BackendOptions {
  readonly event: readonly string[]
  readonly queue?: readonly string[]
  readonly name?: readonly string[]
  readonly tenant?: string
  readonly retry?: string
  readonly concurrency?: number
  readonly rate?: Rate
  readonly secretFile?: string
}

async function secretIn(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    throw usage(`--secret-file: ${(error as Error).message}`)
  }
}

/** Works on a new store. */
export async function createWebhook(url: string, flags: CreateFlags, io: Io): Promise<void> {
  const { event, queue, name, tenant, retry, concurrency, rate, secretFile } = flags
  const input = present({
    url,
    // The engine checks their names.
    events: event as readonly WebhookEvent[],
    queues: queue,
    names: name,
    tenantId: tenant,
    retry: retry === undefined ? undefined : readPolicy(retry, '--retry'),
    concurrency,
    rate,
    secret: secretFile === undefined ? undefined : await secretIn(secretFile),
  })
  return act(flags, io, ({ webhooks }) => webhooks.create(input), {
    text: ({ secret }) => secret,
    note: ({ id }) => `created webhook endpoint ${id}; its secret is not shown again`,
    need: 'any',
  })
}
