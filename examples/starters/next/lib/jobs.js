import { defineJob } from 'chronos-jobs'

/** Fails at its first attempt, as a payment provider does now and then. */
export const charge = defineJob({
  name: 'charge',
  timeout: '5s',
  retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '50ms' }, jitter: 'none' },
  run(/** @type {{ orderId: string }} */ { orderId }, job) {
    if (job.attempt === 1) throw new Error('the card network timed out')
    return { orderId, charged: true }
  },
})
