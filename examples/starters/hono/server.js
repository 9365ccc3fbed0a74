import { serve } from '@hono/node-server'
import { createChronos } from 'chronos-jobs'
import { createServer } from 'chronos-jobs/server'
import { Hono } from 'hono'
import { charge } from './jobs.js'
import { authorize, COOKIE } from './session.js'

const chronos = createChronos({ store: process.env.CHRONOS_STORE ?? 'sqlite:./chronos.db' })
chronos.work([charge], { signals: false })
const board = createServer(chronos, { basePath: '/jobs', authorize })

const app = new Hono()
app.all('/jobs/*', context => board.fetch(context.req.raw))
app.post('/login', context => context.json({ user: 'ada' }, 200, { 'Set-Cookie': COOKIE }))
app.post('/orders', async context => {
  const { orderId } = await context.req.json()
  return context.json(await chronos.enqueue(charge, { orderId: String(orderId) }), 202)
})

const server = serve(
  { fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' },
  ({ port }) => {
    console.log(`listening on http://127.0.0.1:${port}`)
  },
)

process.once('SIGTERM', async () => {
  server.close()
  await board.close()
  await chronos.close()
  server.closeAllConnections()
})
