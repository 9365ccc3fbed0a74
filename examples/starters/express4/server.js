import { createChronos } from 'chronos-jobs'
import { createServer } from 'chronos-jobs/server'
import express from 'express'
import { charge } from './jobs.js'
import { authorize, COOKIE } from './session.js'

const chronos = createChronos({ store: process.env.CHRONOS_STORE ?? 'sqlite:./chronos.db' })
chronos.work([charge], { signals: false })
const board = createServer(chronos, { basePath: '/jobs', authorize })

const app = express()
app.use(express.json())
app.use('/jobs', board.listener)
app.post('/login', (_request, response) => void response.set('Set-Cookie', COOKIE).json({ user: 'ada' }))
app.post('/orders', (request, response, next) => {
  chronos.enqueue(charge, { orderId: String(request.body.orderId) }).then(job => response.status(202).json(job), next)
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})

process.once('SIGTERM', async () => {
  server.close()
  await board.close()
  await chronos.close()
  server.closeAllConnections()
})
