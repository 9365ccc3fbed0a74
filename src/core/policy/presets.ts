import type { Policy } from './policy.js'

/** Every policy has a limit. */
export const MAX_RETRIES = 1_000

export type PresetName = 'standard' | 'http' | 'lowLatency' | 'financial' | 'queue' | 'webhook' | 'patient' | 'none'

const standard: Policy = {
  maxRetries: 3,
  backoff: { type: 'exponential', base: '60s' },
  jitter: 0.2,
  cap: '1h',
}

/** Named policies: `standard`, and policies with the values of well-known documents. */
export const PRESETS: Readonly<Record<PresetName, Policy>> = {
  standard,
  http: { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'none', cap: '5m' },
  lowLatency: { maxRetries: 2, backoff: { type: 'exponential', base: '100ms' }, jitter: 'full', cap: '5s' },
  financial: { maxRetries: 5, backoff: { type: 'exponential', base: '1s' }, jitter: 'full', cap: '60s' },
  queue: { maxRetries: 3, backoff: { type: 'exponential', base: '500ms' }, jitter: 'full', cap: '30s' },
  webhook: { maxRetries: 3, backoff: { type: 'list', delays: ['30s', '60s', '120s'] }, jitter: 'none' },
  patient: { maxRetries: 20, backoff: { type: 'exponential', base: '30s' }, jitter: 'equal', cap: '6h' },
  // Its backoff is never used, unless another level raises maxRetries: then the retries must not be immediate.
  none: { ...standard, maxRetries: 0 },
}

/** The purpose of each preset. */
export const GOOD_FOR: Readonly<Record<PresetName, string>> = {
  standard: 'the default',
  http: 'HTTP jobs (the default)',
  lowLatency: 'jobs whose caller waits for the result',
  financial: 'few, widely spread attempts',
  queue: 'short failures: quick retries',
  webhook: 'webhook deliveries (the default)',
  patient: 'outages of up to a day',
  none: 'jobs that must not run twice',
}

export function isPresetName(name: string): name is PresetName {
  return Object.hasOwn(PRESETS, name)
}
