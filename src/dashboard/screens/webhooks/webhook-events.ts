import type { WebhookEvent } from '../../../core/webhook/webhook.js'

/** What can be told of, and when. */
export const EVENTS: Readonly<Record<WebhookEvent, string>> = {
  'job.succeeded': 'A job has done its work',
  'job.dead': 'A job failed for good',
  'job.cancelled': 'Somebody cancelled a job',
  'job.retrying': 'A run failed and will be retried; many',
  'circuit.opened': 'A target is no longer called',
  'circuit.closed': 'A target is called again',
  'schedule.skipped': 'A run was left out',
  'webhook.disabled': 'An endpoint is told nothing more',
  'alert.firing': 'Something needs a person',
  'alert.resolved': 'It is over',
}

export const EVENT_NAMES = Object.keys(EVENTS) as WebhookEvent[]
