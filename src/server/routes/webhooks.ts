import { JOB_STATES } from '../../core/job/job.js'
import { jobView } from '../../core/job/view.js'
import { recoverOptions, redriveView } from '../../core/redrive/redrive.js'
import { about, anyText, named, oneOf } from '../../core/values/schema.js'
import { object, view } from '../../core/values/shape.js'
import { type EndpointView, endpointLimits, endpointView, webhookInput } from '../../core/webhook/webhook.js'
import { paging } from '../../engine/jobs/query.js'
import { PER_JOB } from '../../engine/webhooks/endpoints.js'
import { webhookQuery } from '../../engine/webhooks/webhooks.js'
import type { Caller } from '../access/caller.js'
import type { Application } from '../application.js'
import { counted } from '../audit-words.js'
import { type Answer, created, type Endpoint, endpoint, gone, NOTHING, ok } from '../endpoint.js'
import { isOwn, noSuch, ownTenant, shownTo } from './tenancy.js'
import { listSchema } from './words.js'

const secret = about(anyText, '`whsec_…`, shown only once: the response to a repeated request omits it.')
const createdWebhook = named('CreatedWebhook', view(endpointView.required, { ...endpointView.optional, secret }))

const list = endpoint({
  method: 'get',
  path: '/webhooks',
  call: 'webhooks.list(...)',
  summary: 'List webhook endpoints, oldest first',
  role: 'viewer',
  tenants: 'own',
  query: webhookQuery,
  answers: ok(listSchema(endpointView, 'WebhookList'), 'A page of webhook endpoints'),
  handle: async ({ app, caller, query }) => ({ body: await app.chronos.webhooks.list(ownTenant(caller, query)) }),
})

const create = endpoint({
  method: 'post',
  path: '/webhooks',
  did: ({ webhookId }) => `created webhook endpoint ${webhookId}`,
  call: 'webhooks.create(...)',
  summary: 'Create a webhook endpoint',
  description: 'The `secret` that signs messages is shown in this response only.',
  role: 'admin',
  tenants: 'own',
  creates: true,
  body: webhookInput,
  answers: created(createdWebhook),
  async handle({ app, caller, body, note }): Promise<Answer> {
    await app.quota.more(caller, 'webhooks')
    const webhook = await app.chronos.webhooks.create(ownTenant(caller, body))
    note({ webhookId: webhook.id })
    tell(app, webhook)
    return { body: webhook, once: ['secret'] }
  },
})

const get = endpoint({
  method: 'get',
  path: '/webhooks/{id}',
  call: 'webhooks.get(id)',
  summary: 'Get a webhook endpoint',
  role: 'viewer',
  tenants: 'own',
  answers: ok(endpointView, 'The webhook'),
  handle: async ({ app, caller, params: { id } }) => ({ body: await ownWebhook(app, caller, id) }),
})

const replace = endpoint({
  method: 'put',
  path: '/webhooks/{id}',
  did: ({ id }) => `set webhook endpoint ${id}`,
  call: 'webhooks.update(id, ...)',
  summary: 'Replace a webhook endpoint',
  description: 'Fields that are left out return to their defaults. State, secrets and deliveries stay.',
  role: 'admin',
  tenants: 'own',
  body: webhookInput,
  answers: ok(endpointView, 'The changed webhook endpoint'),
  async handle({ app, caller, params: { id }, body }): Promise<Answer> {
    await ownWebhook(app, caller, id)
    return changed(app, await app.chronos.webhooks.update(id, ownTenant(caller, body)))
  },
})

const limit = endpoint({
  method: 'patch',
  path: '/webhooks/{id}/limits',
  did: ({ id }) => `set the limits of webhook endpoint ${id}`,
  call: 'webhooks.limit(id, ...)',
  summary: 'Set how many deliveries a webhook endpoint gets',
  description:
    'null is the default; what is left out stays as it is. Deliveries beyond a limit wait and are `blocked`.',
  role: 'operator',
  tenants: 'own',
  body: endpointLimits,
  answers: ok(endpointView, 'The changed webhook endpoint'),
  async handle({ app, caller, params: { id }, body }): Promise<Answer> {
    await ownWebhook(app, caller, id)
    return changed(app, await app.chronos.webhooks.limit(id, body))
  },
})

const remove = endpoint({
  method: 'delete',
  path: '/webhooks/{id}',
  did: ({ id }) => `deleted webhook endpoint ${id}`,
  call: 'webhooks.delete(id)',
  summary: 'Delete a webhook endpoint',
  description: 'Its pending deliveries end as `endpoint-disabled`.',
  role: 'admin',
  tenants: 'own',
  answers: gone,
  async handle({ app, caller, params: { id } }): Promise<Answer> {
    const webhook = await ownWebhook(app, caller, id)
    await app.chronos.webhooks.delete(id)
    tell(app, webhook)
    return {}
  },
})

function action(verb: 'enable' | 'disable', summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/webhooks/{id}/${verb}`,
    did: ({ id }) => `${verb}d webhook endpoint ${id}`,
    call: `webhooks.${verb}(id)`,
    summary,
    role: 'operator',
    tenants: 'own',
    body: NOTHING,
    answers: ok(endpointView, 'The changed webhook endpoint'),
    async handle({ app, caller, params: { id } }): Promise<Answer> {
      await ownWebhook(app, caller, id)
      return changed(app, await app.chronos.webhooks[verb](id))
    },
  })
}

const rotate = endpoint({
  method: 'post',
  path: '/webhooks/{id}/rotate-secret',
  did: ({ id }) => `rotated the secret of webhook endpoint ${id}`,
  call: 'webhooks.rotateSecret(id)',
  summary: 'Rotate the secret of a webhook endpoint',
  description:
    'The new secret is shown in this response only; the old one also signs for another day. ' +
    `The id \`${PER_JOB}\` stands for the webhook URLs that jobs set themselves.`,
  role: 'admin',
  tenants: 'own',
  creates: true,
  body: NOTHING,
  answers: ok(named('NewSecret', view({}, { secret })), 'The new secret'),
  async handle({ app, caller, params: { id } }): Promise<Answer> {
    if (id !== PER_JOB || caller.tenantId !== undefined) tell(app, await ownWebhook(app, caller, id))
    return { body: await app.chronos.webhooks.rotateSecret(id), once: ['secret'] }
  },
})

const test = endpoint({
  method: 'post',
  path: '/webhooks/{id}/test',
  did: ({ id }) => `sent a test to webhook endpoint ${id}`,
  call: 'webhooks.test(id)',
  summary: 'Send a test message of the type `webhook.test`',
  role: 'operator',
  tenants: 'own',
  creates: true,
  body: NOTHING,
  answers: created(jobView, 'The delivery, which is a job'),
  async handle({ app, caller, params: { id } }): Promise<Answer> {
    tell(app, await ownWebhook(app, caller, id))
    const delivery = await app.chronos.webhooks.test(id)
    return { body: await app.chronos.jobs.get(delivery.id) }
  },
})

const recover = endpoint({
  method: 'post',
  path: '/webhooks/{id}/recover',
  did: facts => `started a redrive of ${counted(facts, 'delivery', 'deliveries')} to webhook endpoint ${facts['id']}`,
  call: 'webhooks.recover(id, ...)',
  summary: 'Redrive the dead deliveries since a time',
  role: 'operator',
  tenants: 'own',
  creates: true,
  body: recoverOptions,
  answers: created(redriveView, 'The redrive'),
  async handle({ app, caller, params: { id }, body, note }): Promise<Answer> {
    tell(app, await ownWebhook(app, caller, id))
    const redrive = await app.chronos.webhooks.recover(id, body)
    note({ redriveId: redrive.id, count: redrive.total.value })
    app.feed.changed(['redrives'], redrive.tenantId)
    return { body: redrive }
  },
})

const deliveries = endpoint({
  method: 'get',
  path: '/webhooks/{id}/deliveries',
  call: 'webhooks.deliveries(id, ...)',
  summary: 'List the deliveries of a webhook endpoint, newest first',
  role: 'viewer',
  tenants: 'own',
  query: object({}, { state: oneOf(JOB_STATES), ...paging }),
  answers: ok(listSchema(jobView, 'DeliveryList'), 'A page of deliveries, which are jobs'),
  async handle({ app, caller, params: { id }, query }): Promise<Answer> {
    await ownWebhook(app, caller, id)
    const found = await app.chronos.webhooks.deliveries(id, query)
    return { body: { ...found, data: found.data.map(job => shownTo(caller, job)) } }
  },
})

/** The webhook endpoint, if this caller may see it. */
async function ownWebhook({ chronos }: Application, caller: Caller, id: string): Promise<EndpointView> {
  const webhook = await chronos.webhooks.get(id)
  if (isOwn(caller, webhook)) return webhook
  throw noSuch('webhook', id)
}

function changed(app: Application, webhook: EndpointView): Answer {
  tell(app, webhook)
  return { body: webhook }
}

function tell({ feed }: Application, { tenantId }: EndpointView): void {
  feed.changed(['webhooks'], tenantId)
}

export const WEBHOOKS: readonly Endpoint[] = [
  list,
  create,
  get,
  replace,
  limit,
  remove,
  action('enable', 'Enable a webhook endpoint'),
  action('disable', 'Disable a webhook endpoint'),
  rotate,
  test,
  recover,
  deliveries,
]
