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

/** A job of the demo, what it is there to show, and how it must end. */
export interface Story {
  readonly name: string
  readonly tells: string
  readonly job: JobReference<unknown>
  readonly payload: unknown
  readonly options?: { readonly queue: string; readonly retry: PolicyInput }
  readonly ends: {
    readonly state: JobState
    readonly reason?: DeathReason
    /** What its runs come to, first to last. */
    readonly runs: readonly RunStatus[]
    /** Runs that counted. */
    readonly attempts: number
  }
}

export const STORIES: readonly Story[] = [
  {
    name: sendWelcomeEmail.name,
    tells: 'succeeds at once',
    job: sendWelcomeEmail,
    payload: { to: 'ada@example.com' },
    ends: { state: 'succeeded', runs: ['succeeded'], attempts: 1 },
  },
  {
    name: chargeCard.name,
    tells: 'fails twice, then succeeds',
    job: chargeCard,
    payload: { orderId: 'A-17', cents: 4200 },
    ends: { state: 'succeeded', runs: ['failed', 'failed', 'succeeded'], attempts: 3 },
  },
  {
    name: syncInventory.name,
    tells: 'always fails, until its retries are used up',
    job: syncInventory,
    payload: { warehouse: 'north' },
    ends: { state: 'dead', reason: 'exhausted', runs: ['failed', 'failed', 'failed', 'failed'], attempts: 4 },
  },
  {
    name: importCsv.name,
    tells: 'throws a ValidationError, which no retry can mend',
    job: importCsv,
    payload: { file: 'prices.csv' },
    ends: { state: 'dead', reason: 'permanent', runs: ['failed'], attempts: 1 },
  },
  {
    name: renderVideo.name,
    tells: 'hangs, is stopped by its timeout, then succeeds',
    job: renderVideo,
    payload: { clip: 'launch.mov' },
    ends: { state: 'succeeded', runs: ['timed-out', 'succeeded'], attempts: 2 },
  },
  {
    name: sendSms.name,
    tells: 'fails, and is at-most-once: never run again',
    job: sendSms,
    payload: { to: '+1 555 0100' },
    ends: { state: 'dead', reason: 'failed', runs: ['failed'], attempts: 1 },
  },
  {
    name: waitForStock.name,
    tells: 'snoozes twice, which costs no attempt',
    job: waitForStock,
    payload: { sku: 'mug-blue' },
    ends: { state: 'succeeded', runs: ['snoozed', 'snoozed', 'succeeded'], attempts: 1 },
  },
  {
    ...resizeImage,
    tells: 'kills its worker process, three times',
    // By its name alone: the code that runs it lives in another process.
    job: resizeImage.name,
    payload: { image: 'panorama-40000x9000.png' },
    ends: { state: 'dead', reason: 'poison', runs: ['lost', 'lost', 'lost'], attempts: 3 },
  },
]
