import type { JobView } from '../../../core/job/view.js'
import type { Rate } from '../../../core/values/rate.js'
import type { EndpointView, WebhookEvent } from '../../../core/webhook/webhook.js'
import { systemClock } from '../../../engine/time/system.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { brief, relative } from '../../output/moment.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { many, show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { readPolicy } from '../enqueue/payload.js'
import type { WebhookVerb } from './command.js'

interface WebhookFlags extends BackendOptions {
  readonly json?: true
}

interface PageFlags extends WebhookFlags {
  readonly limit?: number
  readonly cursor?: string
}

const pageOf = ({ limit, cursor }: PageFlags) => ({
  ...(limit !== undefined && { limit }),
  ...(cursor !== undefined && { cursor }),
})

export async function listWebhooks(options: PageFlags, io: Io): Promise<void> {
  await withBackend(options, io, async ({ webhooks }) => {
    const list = await webhooks.list(pageOf(options))
    show(io, options, list, style => (list.data.length === 0 ? '' : webhookTable(list.data, style)))
    if (options.json) return
    const more = list.page.next === undefined ? '' : `; more with --cursor ${oneLine(list.page.next)}`
    io.stderr.write(`${many(list.data.length, 'webhook')}${more}\n`)
  })
}

function webhookTable(webhooks: readonly EndpointView[], style: Style): string {
  const columns = [
    { title: 'Id' },
    { title: 'State' },
    { title: 'Address', wraps: true },
    { title: 'Events', wraps: true },
    { title: 'Only', wraps: true },
  ] as const
  const rows = webhooks.map((webhook): Cell[] => [
    webhook.id,
    stateCell(webhook),
    oneLine(webhook.url),
    webhook.events.join(', '),
    onlyWords(webhook) || { text: '-', tone: 'dim' },
  ])
  return table(columns, rows, { ...style, boxes: false })
}

function stateCell({ state, disabledReason, failingSince }: EndpointView): Cell {
  if (state === 'disabled') return { text: `disabled (${disabledReason})`, tone: 'bad' }
  if (failingSince === undefined) return state
  return { text: `failing for ${brief(systemClock.now() - Date.parse(failingSince))}`, tone: 'warn' }
}

function onlyWords({ queues, names, tenantId }: EndpointView): string {
  const words = [
    queues && `queue ${queues.join(', ')}`,
    names && `job ${names.join(', ')}`,
    tenantId !== undefined && `tenant ${oneLine(tenantId)}`,
  ]
  return words.filter(word => typeof word === 'string').join('; ')
}

interface CreateFlags extends WebhookFlags {
  readonly event: readonly string[]
  readonly queue?: readonly string[]
  readonly name?: readonly string[]
  readonly tenant?: string
  readonly retry?: string
}

/** A webhook may be the first thing in a store. */
export async function createWebhook(url: string, flags: CreateFlags, io: Io): Promise<void> {
  const { event, queue, name, tenant, retry } = flags
  const input = {
    url,
    // Which there are is checked where they are used.
    events: event as readonly WebhookEvent[],
    ...(queue && { queues: queue }),
    ...(name && { names: name }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(retry !== undefined && { retry: readPolicy(retry, '--retry') }),
  }
  await withBackend(
    flags,
    io,
    async ({ webhooks }) => {
      const made = await webhooks.create(input)
      show(io, flags, made, () => `${made.secret}\n`)
      if (!flags.json) io.stderr.write(`webhook ${made.id} is enabled; its secret is shown this once\n`)
    },
    'any',
  )
}

export async function rotateSecret(id: string, options: WebhookFlags, io: Io): Promise<void> {
  await withBackend(options, io, async ({ webhooks }) => {
    const made = await webhooks.rotateSecret(id)
    show(io, options, made, () => `${made.secret}\n`)
    if (!options.json) io.stderr.write('the old secret signs beside the new one for another day\n')
  })
}

export async function actOn(verb: WebhookVerb, id: string, options: WebhookFlags, io: Io): Promise<void> {
  await withBackend(options, io, async ({ webhooks }) => {
    if (verb === 'delete') {
      await webhooks.delete(id)
      show(io, options, { id, deleted: true }, () => `webhook ${oneLine(id)} is deleted\n`)
    } else if (verb === 'test') {
      const delivery = await webhooks.test(id)
      show(io, options, delivery, () => `${delivery.id}\n`)
      if (!options.json) io.stderr.write('it is sent while a worker runs somewhere\n')
    } else {
      const webhook = await webhooks[verb](id)
      show(io, options, webhook, () => `webhook ${oneLine(id)} is ${webhook.state}\n`)
    }
  })
}

interface DeliveryFlags extends PageFlags {
  readonly state?: string
}

export async function listDeliveries(id: string, options: DeliveryFlags, io: Io): Promise<void> {
  await withBackend(options, io, async ({ webhooks }) => {
    // Whether it is a state is checked where it is used.
    const state = options.state as JobView['state'] | undefined
    const list = await webhooks.deliveries(id, { ...pageOf(options), ...(state && { state }) })
    show(io, options, list, style => (list.data.length === 0 ? '' : deliveryTable(list.data, style)))
    if (options.json) return
    const more = list.page.next === undefined ? '' : `; more with --cursor ${oneLine(list.page.next)}`
    io.stderr.write(`${list.data.length === 1 ? '1 delivery' : `${list.data.length} deliveries`}${more}\n`)
  })
}

function deliveryTable(deliveries: readonly JobView[], style: Style): string {
  const columns = [
    { title: 'Delivery' },
    { title: 'Event' },
    { title: 'State' },
    { title: 'Attempts', align: 'right' },
    { title: 'Made' },
    { title: 'Last error', wraps: true },
  ] as const
  const now = systemClock.now()
  const rows = deliveries.map(({ id, payload, phase, reason, attempt, maxAttempts, createdAt, error }): Cell[] => [
    id,
    oneLine(String((payload as { readonly type?: unknown } | null)?.type ?? '-')),
    reason === undefined ? phase : { text: `${phase} (${reason})`, tone: 'bad' },
    `${attempt} of ${maxAttempts}`,
    relative(createdAt, now),
    error ? oneLine(error.message) : { text: '-', tone: 'dim' },
  ])
  return table(columns, rows, { ...style, boxes: false })
}

interface RecoverFlags extends WebhookFlags {
  readonly since: string
  readonly rate?: Rate
}

export async function recover(id: string, options: RecoverFlags, io: Io): Promise<void> {
  await withBackend(options, io, async ({ webhooks }) => {
    const { since, rate } = options
    const redrive = await webhooks.recover(id, { since, ...(rate !== undefined && { rate }) })
    show(io, options, redrive, () => `${redrive.id}\n`)
    if (options.json) return
    const { value } = redrive.total
    const words = value === 1 ? '1 delivery' : `${value} deliveries`
    io.stderr.write(`${words} to send again; watch it with \`chronos redrives get ${redrive.id} --follow\`\n`)
  })
}
