import type { Policy } from './policy.js'

/** Every policy has a limit. */
export const MAX_RETRIES = 1_000

export type PresetName =
  | 'standard'
  | 'http'
  | 'lowLatency'
  | 'financial'
  | 'queue'
  | 'webhook'
  | 'patient'
  | 'none'
  | 'conservative'
  | 'aggressive'
  | 'one-shot'

const standard: Policy = {
  maxRetries: 3,
  backoff: { type: 'exponential', base: '60s' },
  jitter: 0.2,
  cap: '1h',
}
const lowLatency: Policy = {
  maxRetries: 2,
  backoff: { type: 'exponential', base: '100ms' },
  jitter: 'full',
  cap: '5s',
}
const financial: Policy = { maxRetries: 5, backoff: { type: 'exponential', base: '1s' }, jitter: 'full', cap: '60s' }
// Its backoff is never used, unless another level raises maxRetries: then the retries must not be immediate.
const none: Policy = { ...standard, maxRetries: 0 }

/** Named policies: `standard`, and policies with the values of well-known documents. */
export const PRESETS: Readonly<Record<PresetName, Policy>> = {
  standard,
  http: { maxRetries: 3, backoff: { type: 'exponential', base: '1s' }, jitter: 'none', cap: '5m' },
  lowLatency,
  financial,
  queue: { maxRetries: 3, backoff: { type: 'exponential', base: '500ms' }, jitter: 'full', cap: '30s' },
  webhook: { maxRetries: 3, backoff: { type: 'list', delays: ['30s', '60s', '120s'] }, jitter: 'none' },
  patient: { maxRetries: 20, backoff: { type: 'exponential', base: '30s' }, jitter: 'equal', cap: '6h' },
  none,
  // Other well-known names of the same policies.
  conservative: financial,
  aggressive: lowLatency,
  'one-shot': none,
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
  conservative: 'as financial',
  aggressive: 'as lowLatency',
  'one-shot': 'as none',
}

export function isPresetName(name: string): name is PresetName {
  return Object.hasOwn(PRESETS, name)
}
