import type { EndpointView, WebhookEvent } from '../../../core/webhook/webhook.js'

export const EVENTS: Readonly<Record<WebhookEvent, string>> = {
  'job.succeeded': 'A job succeeded',
  'job.dead': 'A job died',
  'job.cancelled': 'A job was cancelled',
  'job.retrying': 'A run failed and will be retried (frequent)',
  'circuit.opened': 'The circuit of a dependency opened',
  'circuit.closed': 'The circuit of a dependency closed',
  'schedule.skipped': 'A schedule skipped a run',
  'webhook.disabled': 'A webhook endpoint was disabled',
  'alert.firing': 'An alert fires',
  'alert.resolved': 'An alert is resolved',
}

export const EVENT_NAMES = Object.keys(EVENTS) as WebhookEvent[]

export const DISABLED_WHY: Readonly<Record<NonNullable<EndpointView['disabledReason']>, string>> = {
  gone: 'The endpoint answered 410 Gone.',
  failing: 'All deliveries failed for five days.',
  'by-hand': 'It was disabled by a user.',
}
