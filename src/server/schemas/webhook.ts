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
    queues: z.array(name).min(1).max(LIST_MAX).optional().openapi({ description: 'Only of jobs in these.' }),
    names: z.array(name).min(1).max(LIST_MAX).optional().openapi({ description: 'Only of jobs with these names.' }),
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
    failingSince: time.optional().openapi({ description: 'The first failure since anything got through.' }),
    secrets: z
      .array(z.object({ createdAt: time, expiresAt: time.optional() }))
      .openapi({ description: 'Those that sign at present; what they are is told once, when they are made.' }),
    createdAt: time,
    updatedAt: time,
  })
  .openapi('Webhook')

const secret = z
  .string()
  .optional()
  .openapi({ description: '`whsec_…`, told this once: a repeated request is answered without.' })

export const createdWebhook = webhookSchema.extend({ secret }).openapi('CreatedWebhook')
export const secretSchema = z.object({ secret }).openapi('NewSecret')
export const webhookList = listSchema(webhookSchema, 'WebhookList')
export const webhookQuery = z.strictObject({ tenantId: text.optional(), ...paging })

export const deliveryQuery = z.strictObject({
  state: z.enum(['waiting', 'running', 'succeeded', 'dead', 'cancelled']).optional(),
  ...paging,
})

export const recoverRequest = z
  .strictObject({ since: time.openapi({ description: 'Of messages from this time on.' }), ...redriveOptions })
  .openapi('RecoverRequest')
