import 'reflect-metadata'
import { Body, Controller, Header, HttpCode, Injectable, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Chronos, JobContext } from 'chronos-jobs'
import { ChronosModule, InjectChronos, JobHandler, mountDashboard } from 'chronos-jobs/nest'
import { authorize, COOKIE } from './session.js'

@Injectable()
class Payments {
  /** Fails at its first attempt, as a payment provider does now and then. */
  @JobHandler({
    name: 'charge',
    timeout: '5s',
    retry: { maxRetries: 3, backoff: { type: 'fixed', delay: '50ms' }, jitter: 'none' },
  })
  charge({ orderId }: { orderId: string }, job: JobContext) {
    if (job.attempt === 1) throw new Error('the card network timed out')
    return { orderId, charged: true }
  }
}

@Controller()
class Shop {
  private readonly chronos: Chronos

  constructor(@InjectChronos() chronos: Chronos) {
    this.chronos = chronos
  }

  @Post('login')
  @Header('Set-Cookie', COOKIE)
  login() {
    return { user: 'ada' }
  }

  @Post('orders')
  @HttpCode(202)
  order(@Body() body: { orderId: string }) {
    return this.chronos.enqueue('charge', { orderId: String(body.orderId) })
  }
}

@Module({
  imports: [
    ChronosModule.forRootAsync({
      useFactory: () => ({ store: process.env['CHRONOS_STORE'] ?? 'sqlite:./chronos.db' }),
    }),
  ],
  controllers: [Shop],
  providers: [Payments],
})
class App {}

async function start(): Promise<void> {
  const app = await NestFactory.create(App, { logger: ['error', 'warn'], forceCloseConnections: true })
  app.enableShutdownHooks()
  mountDashboard(app, '/jobs', { authorize })
  await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
  console.log(`listening on ${await app.getUrl()}`)
}

void start()
