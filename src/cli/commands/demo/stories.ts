import type { DeathReason, JobState, RunStatus } from '../../../core/job/job.js'
import type { PolicyInput } from '../../../core/policy/policy.js'
import type { JobReference } from '../../../engine/client/enqueuer.js'
import {
  chargeCard,
  importCsv,
  renderVideo,
  resizeImage,
  sendSms,
  sendWelcomeEmail,
  syncInventory,
  waitForStock,
} from './jobs.js'

/** A job of the demo, what it shows, and its expected outcome. */
export interface Story {
  readonly name: string
  readonly shows: string
  readonly job: JobReference<unknown>
  readonly payload: unknown
  readonly options?: { readonly queue: string; readonly retry: PolicyInput }
  readonly ends: {
    readonly state: JobState
    readonly reason?: DeathReason
    /** Outcomes of its runs, oldest first. */
    readonly runs: readonly RunStatus[]
    /** Runs that counted as attempts. */
    readonly attempts: number
  }
}

export const STORIES: readonly Story[] = [
  {
    name: sendWelcomeEmail.name,
    shows: 'succeeds at once',
    job: sendWelcomeEmail,
    payload: { to: 'ada@example.com' },
    ends: { state: 'succeeded', runs: ['succeeded'], attempts: 1 },
  },
  {
    name: chargeCard.name,
    shows: 'fails twice, then succeeds',
    job: chargeCard,
    payload: { orderId: 'A-17', cents: 4200 },
    ends: { state: 'succeeded', runs: ['failed', 'failed', 'succeeded'], attempts: 3 },
  },
  {
    name: syncInventory.name,
    shows: 'always fails, until no retries are left',
    job: syncInventory,
    payload: { warehouse: 'north' },
    ends: { state: 'dead', reason: 'exhausted', runs: ['failed', 'failed', 'failed', 'failed'], attempts: 4 },
  },
  {
    name: importCsv.name,
    shows: 'throws a ValidationError, which is not retried',
    job: importCsv,
    payload: { file: 'prices.csv' },
    ends: { state: 'dead', reason: 'permanent', runs: ['failed'], attempts: 1 },
  },
  {
    name: renderVideo.name,
    shows: 'hangs, is stopped by its timeout, then succeeds',
    job: renderVideo,
    payload: { clip: 'launch.mov' },
    ends: { state: 'succeeded', runs: ['timed-out', 'succeeded'], attempts: 2 },
  },
  {
    name: sendSms.name,
    shows: 'fails, and is at-most-once: never retried',
    job: sendSms,
    payload: { to: '+1 555 0100' },
    ends: { state: 'dead', reason: 'failed', runs: ['failed'], attempts: 1 },
  },
  {
    name: waitForStock.name,
    shows: 'snoozes twice, which uses no attempt',
    job: waitForStock,
    payload: { sku: 'mug-blue' },
    ends: { state: 'succeeded', runs: ['snoozed', 'snoozed', 'succeeded'], attempts: 1 },
  },
  {
    ...resizeImage,
    shows: 'kills its worker process, three times',
    // Enqueued by name: its definition is in another process.
    job: resizeImage.name,
    payload: { image: 'panorama-40000x9000.png' },
    ends: { state: 'dead', reason: 'poison', runs: ['lost', 'lost', 'lost'], attempts: 3 },
  },
]
