import { exponential, fibonacci, fixed } from '../../../core/policy/builders.js'
import { wait } from '../../../core/values/clock.js'
import { defineJob, type JobContext } from '../../../engine/client/definition.js'
import { systemClock } from '../../../engine/time/system.js'
import { failure } from './failure.js'

// Their failures are scripted by attempt; the engine around them is real.

export const sendWelcomeEmail = defineJob({
  name: 'send-welcome-email',
  async run(_: unknown, job) {
    await takes(80, job)
    job.log('Email delivered')
  },
})

export const chargeCard = defineJob({
  name: 'charge-card',
  retry: exponential({ base: '500ms', jitter: 0.2, maxRetries: 3 }),
  async run(_: unknown, job) {
    await takes(120, job)
    if (job.attempt === 1) throw failure('connect ETIMEDOUT', { code: 'ETIMEDOUT' })
    if (job.attempt === 2) throw failure('gateway answered 503', { status: 503 })
    job.log('Card charged')
    return { receipt: 'rcpt_8842' }
  },
})

const WAREHOUSE_TROUBLES = ['socket hang up', 'warehouse answered 502', 'connect ECONNREFUSED']

export const syncInventory = defineJob({
  name: 'sync-inventory',
  retry: fibonacci({ base: '800ms', jitter: 'equal', maxRetries: 3 }),
  async run(_: unknown, job) {
    await takes(100, job)
    throw new Error(WAREHOUSE_TROUBLES[(job.attempt - 1) % WAREHOUSE_TROUBLES.length])
  },
})

class ValidationError extends Error {
  override readonly name: string = 'ValidationError'
}

export const importCsv = defineJob({
  name: 'import-csv',
  async run(_: unknown, job) {
    await takes(40, job)
    throw new ValidationError('row 17: price is missing')
  },
})

export const renderVideo = defineJob({
  name: 'render-video',
  timeout: '300ms',
  retry: fixed({ delay: '700ms', jitter: 0.5, maxRetries: 3 }),
  async run(_: unknown, job) {
    await takes(job.attempt === 1 ? 60_000 : 180, job)
    job.log('Video rendered')
  },
})

export const sendSms = defineJob({
  name: 'send-sms',
  delivery: 'at-most-once',
  async run(_: unknown, job) {
    await takes(60, job)
    throw failure('carrier answered 502', { status: 502 })
  },
})

export const waitForStock = defineJob({
  name: 'wait-for-stock',
  async run(_: unknown, job) {
    await takes(20, job)
    if (job.run <= 2) return job.snooze('1s', 'not in stock yet')
    job.log('Back in stock')
    return undefined
  },
})

/** The job that `crash-worker.ts` runs, as the main process enqueues it. */
export const resizeImage = {
  name: 'resize-image',
  options: { queue: 'images', retry: fixed({ delay: '400ms', jitter: 0.5, maxRetries: 3 }) },
} as const

export const MAIN_JOBS = [
  sendWelcomeEmail,
  chargeCard,
  syncInventory,
  importCsv,
  renderVideo,
  sendSms,
  waitForStock,
] as const

export function takes(ms: number, { signal }: JobContext): Promise<void> {
  return wait(systemClock, ms, signal)
}
