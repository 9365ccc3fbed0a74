import { createChronos } from 'chronos-jobs'
import { tick } from 'chronos-jobs/serverless'
import { charge } from './jobs.js'

export const chronos = createChronos({ store: process.env.CHRONOS_STORE ?? 'sqlite:./chronos.db' })

/** POST /orders: any function may enqueue. @param {Request} request */
export async function enqueueOrder(request) {
  const { orderId } = await request.json()
  return Response.json(await chronos.enqueue(charge, { orderId: String(orderId) }), { status: 202 })
}

/** GET /cron: the cron trigger of the platform calls it with the secret. */
export const tickNow = tick(chronos, [charge], {
  within: '20s',
  secret: process.env.CRON_SECRET ?? 'the-secret-of-the-cron',
}).fetch
