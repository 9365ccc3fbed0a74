import { createChronos } from 'chronos-jobs'
import { createServer } from 'chronos-jobs/server'
import fastify from 'fastify'
import { charge } from './jobs.js'
import { authorize, COOKIE } from './session.js'

const chronos = createChronos({ store: process.env.CHRONOS_STORE ?? 'sqlite:./chronos.db' })
chronos.work([charge], { signals: false })
const board = createServer(chronos, { basePath: '/jobs', authorize })

const app = fastify({ forceCloseConnections: true })
app.register(async scope => {
  // The dashboard reads bodies itself.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const answer = (request, reply) => {
    reply.hijack()
    board.listener(request.raw, reply.raw)
  }
  scope.all('/jobs', answer)
  scope.all('/jobs/*', answer)
})
app.post('/login', (_request, reply) => reply.header('Set-Cookie', COOKIE).send({ user: 'ada' }))
app.post('/orders', async (request, reply) => {
  reply.code(202)
  return chronos.enqueue(charge, { orderId: String(request.body.orderId) })
})
app.addHook('onClose', async () => {
  await board.close()
  await chronos.close()
})

console.log(`listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })}`)
process.once('SIGTERM', () => app.close())
