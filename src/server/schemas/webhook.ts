import { WEBHOOK_EVENTS } from '../../core/webhook/webhook.js'
import { policyInput, policySchema } from './policy.js'
import { redriveOptions } from './redrive.js'
import { listSchema, name, paging, text, time } from './words.js'
import { z } from './zod.js'

const LIST_MAX = 100

const event = z.enum(WEBHOOK_EVENTS)

export const webhookInput = z
  .strictObject({
    url: z.string().min(1).max(8192),
    events: z.array(event).min(1).max(LIST_MAX),
    queues: z
      .array(name)
      .min(1)
      .max(LIST_MAX)
      .optional()
      .openapi({ description: 'Only events of jobs in these queues.' }),
    names: z
      .array(name)
      .min(1)
      .max(LIST_MAX)
      .optional()
      .openapi({ description: 'Only events of jobs with these names.' }),
    tenantId: text.optional(),
    retry: policyInput.optional(),
  })
  .openapi('WebhookInput', { example: { url: 'https://shop.example/hooks', events: ['job.dead'] } })

export const webhookSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(event),
    queues: z.array(z.string()).optional(),
    names: z.array(z.string()).optional(),
    tenantId: z.string().optional(),
    retry: policySchema.partial().optional(),
    state: z.enum(['enabled', 'disabled']),
    disabledReason: z.enum(['gone', 'failing', 'by-hand']).optional(),
    disabledAt: time.optional(),
    failingSince: time.optional().openapi({ description: 'The first failure since the last successful delivery.' }),
    secrets: z.array(z.object({ createdAt: time, expiresAt: time.optional() })).openapi({
      description: 'The secrets that currently sign messages; each is shown only once, when it is created.',
    }),
    createdAt: time,
    updatedAt: time,
  })
  .openapi('Webhook')

const secret = z
  .string()
  .optional()
  .openapi({ description: '`whsec_…`, shown only once: the response to a repeated request omits it.' })

export const createdWebhook = webhookSchema.extend({ secret }).openapi('CreatedWebhook')
export const secretSchema = z.object({ secret }).openapi('NewSecret')
export const webhookList = listSchema(webhookSchema, 'WebhookList')
export const webhookQuery = z.strictObject({ tenantId: text.optional(), ...paging })

export const deliveryQuery = z.strictObject({
  state: z.enum(['waiting', 'running', 'succeeded', 'dead', 'cancelled']).optional(),
  ...paging,
})

export const recoverRequest = z
  .strictObject({
    since: time.openapi({ description: 'Redrive deliveries of messages from this time on.' }),
    ...redriveOptions,
  })
  .openapi('RecoverRequest')
