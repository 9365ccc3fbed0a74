import { RetryAfter } from '../../../../core/failure/retry-after.js'
import { exponential, fixed } from '../../../../core/policy/builders.js'
import { PermanentError } from '../../../../core/values/error.js'
import { defineJob, type JobDefinition } from '../../../../engine/client/definition.js'
import { failure } from '../../demo/failure.js'
import type { World } from './world.js'

// The jobs of an online shop. Their failures are made up; the engine is real.

const CIRCUIT = { minimumCalls: 8, window: '30s', openFor: '15s', openMax: '1m' } as const

interface Order {
  readonly orderId: string
  readonly cents?: number
}

export function shopJobs(world: World): readonly JobDefinition<never>[] {
  return [...moneyJobs(world), ...goodsJobs(world), ...officeJobs(world)] as readonly JobDefinition<never>[]
}

function moneyJobs(world: World) {
  const chargeCard = defineJob({
    name: 'charge-card',
    queue: 'payments',
    priority: 8,
    dependsOn: 'bank.example',
    retry: { ...exponential({ base: '2s', cap: '30s', jitter: 'equal', maxRetries: 6 }), circuit: CIRCUIT },
    async run({ orderId, cents = 0 }: Order, job) {
      job.log('asking the bank', { cents })
      await world.takes(180, job)
      if (world.isDown('bank')) throw failure('bank answered 503', { status: 503 })
      if (world.chance(0.03)) throw new PermanentError(`card of order ${orderId} was declined`)
      if (world.chance(0.05)) throw failure('connect ETIMEDOUT 192.0.2.10:443', { code: 'ETIMEDOUT' })
      return { receipt: `R-${orderId}` }
    },
  })
  const refund = defineJob({
    name: 'refund-order',
    queue: 'payments',
    delivery: 'at-most-once',
    async run({ orderId }: Order, job) {
      await world.takes(250, job)
      if (world.chance(0.25)) throw failure('bank closed the connection', { code: 'ECONNRESET' })
      return { refunded: orderId }
    },
  })
  const invoice = defineJob({
    name: 'create-invoice',
    queue: 'invoices',
    retry: fixed({ delay: '3s', jitter: 0.3, maxRetries: 2 }),
    async run({ orderId, cents }: Order, job) {
      await world.takes(90, job)
      if (cents === undefined) throw new TypeError("Cannot read properties of undefined (reading 'vat')")
      if (world.chance(0.06)) throw failure(`invoice number is taken by order ${orderId}`, { status: 409 })
      return { pdf: `invoice-${orderId}.pdf` }
    },
  })
  return [chargeCard, refund, invoice]
}

function goodsJobs(world: World) {
  const syncStock = defineJob({
    name: 'sync-stock',
    queue: 'stock',
    retry: exponential({ base: '2s', jitter: 'equal', maxRetries: 3 }),
    async run(_: { readonly sku: string }, job) {
      await world.takes(120, job)
      if (world.isDown('warehouse')) throw failure('warehouse answered 502', { status: 502 })
      return { pieces: world.number(200) }
    },
  })
  const indexProduct = defineJob({
    name: 'index-product',
    queue: 'search',
    priority: 3,
    retry: exponential({ base: '1s', cap: '20s', jitter: 'full', maxRetries: 8 }),
    async run(_: { readonly sku: string }, job) {
      await world.takes(60, job)
      if (world.isDown('search')) throw new RetryAfter('5s', 'search cluster is busy')
      return undefined
    },
  })
  const waitForDelivery = defineJob({
    name: 'wait-for-delivery',
    queue: 'stock',
    async run({ orderId }: Order, job) {
      await world.takes(30, job)
      if (job.run < 4) return job.snooze('8s', 'the van is still on its way')
      return { delivered: orderId }
    },
  })
  const resizeImage = defineJob({
    name: 'resize-image',
    queue: 'images',
    priority: 2,
    async run({ file }: { readonly file: string }, job) {
      await world.takes(300, job)
      if (file.endsWith('.heic')) throw new PermanentError(`unsupported image format: ${file}`)
      return { sizes: [64, 256, 1024] }
    },
  })
  return [syncStock, indexProduct, waitForDelivery, resizeImage]
}

function officeJobs(world: World) {
  const sendMail = defineJob({
    name: 'send-mail',
    queue: 'mail',
    retry: exponential({ base: '2s', cap: '1m', jitter: 0.2, maxRetries: 5 }),
    async run({ to }: { readonly to: string }, job) {
      await world.takes(110, job)
      if (to.endsWith('@nowhere.example')) throw new PermanentError(`mailbox of ${to} does not exist`)
      if (world.chance(0.12)) throw failure('421 too many connections, try again later', { code: 'ESMTP421' })
      job.log('delivered', { to })
    },
  })
  const exportOrders = defineJob({
    name: 'export-orders',
    queue: 'exports',
    timeout: '6s',
    retry: fixed({ delay: '10s', jitter: 0.2, maxRetries: 1 }),
    async run({ month }: { readonly month: string }, job) {
      const isHuge = month === '2025-12'
      for (let percent = 0; percent < 100; percent += 20) {
        job.progress({ percent, month })
        await world.takes(isHuge ? 4_000 : 700, job)
      }
      return { rows: world.number(90_000) }
    },
  })
  const nightlyReport = defineJob({
    name: 'nightly-report',
    queue: 'reports',
    async run(_: unknown, job) {
      await world.takes(800, job)
      if (world.chance(0.15)) throw failure('deadlock detected', { code: '40P01' })
      return { orders: world.number(4_000) }
    },
  })
  return [sendMail, exportOrders, nightlyReport]
}
