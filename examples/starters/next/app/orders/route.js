import { chronos } from '../../lib/chronos.js'
import { charge } from '../../lib/jobs.js'

/** @param {Request} request */
export async function POST(request) {
  const { orderId } = await request.json()
  return Response.json(await chronos.enqueue(charge, { orderId: String(orderId) }), { status: 202 })
}
