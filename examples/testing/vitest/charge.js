import { defineJob, fixed } from 'chronos-jobs'

/** Charges an order; the gateway fails at times. */
export const chargeWith = gateway =>
  defineJob({
    name: 'charge',
    retry: fixed({ delay: '10m', maxRetries: 3, jitter: 'none' }),
    async run(order, job) {
      await job.clock.wait('5s') // virtual time in a test
      return gateway(order, job.key)
    },
  })

/** Marks an order as paid and enqueues its receipt, both or neither. */
export async function pay(chronos, tx, orderId) {
  await tx.query('UPDATE orders SET paid = true WHERE id = $1', [orderId])
  await chronos.enqueue('receipt', { orderId }, { tx })
}
