import { join } from 'node:path'
import { vi } from 'vitest'
import { defineJob, exponential, fixed, PermanentError } from '../../src/index.js'
import { type StartOptions, startServer, type TestServer } from '../server/server.js'
import { ROOT } from '../support/tree.js'

/** The ids of the test data. */
export interface World extends TestServer {
  readonly ids: {
    readonly succeeded: string
    readonly dead: string
    readonly retrying: string
    readonly waiting: string
    readonly fingerprint: string
    readonly redrive: string
    readonly webhook: string
    readonly worker: string
  }
}

export const DASHBOARD = join(ROOT, 'dist', 'dashboard')

/** A server with an empty store. */
export function emptyWorld(options: StartOptions = {}): Promise<TestServer> {
  return startServer({ dashboard: DASHBOARD, ...options })
}

/** A circuit is open, and there are dead letters. */
const ALERTS = 2
const PAYMENTS = { queue: 'payments' }

/** A server with data for every screen. Real workers ran its jobs. */
export async function fullWorld(options: StartOptions = {}): Promise<World> {
  const t = await startServer({
    dashboard: DASHBOARD,
    maintenance: false,
    ...options,
    chronos: { egress: { allow: ['loopback'] }, queues: { calls: { circuit: true } }, ...options.chronos },
  })
  const { chronos } = t
  const charge = defineJob({
    name: 'charge-card',
    ...PAYMENTS,
    retry: fixed({ delay: '1ms', maxRetries: 2 }),
    run: ({ order, fate }: { order: string; fate: 'ok' | 'declined' | 'down' }, job) => {
      job.log('charging', { order })
      if (fate === 'declined') throw new PermanentError('card declined by issuer')
      if (fate === 'down') throw Object.assign(new Error(`gateway answered 503 for order ${order}`), { status: 503 })
      return { receipt: `r-${order}` }
    },
  })
  const mail = defineJob({
    name: 'mail.welcome',
    queue: 'mail',
    retry: exponential({ base: '1h', maxRetries: 5 }),
    run: ({ to }: { to: string }) => {
      if (to.startsWith('bad')) throw Object.assign(new Error(`SMTP 421 for ${to}`), { code: 'ESMTP' })
      return { sent: to }
    },
  })
  const sync = defineJob({ name: 'sync-stock', queue: 'calls', dependsOn: 'api.example', run: () => ({ synced: 12 }) })
  const ended = endsOf(t, 21)
  const retried = new Promise<string>(resolve =>
    chronos.on('job.retrying', ({ job }) => job.name === 'mail.welcome' && resolve(job.id)),
  )
  const good = await chronos.enqueue(charge, { order: 'A-1', fate: 'ok' }, { tags: ['vip'], key: 'order:A-1' })
  const declined = await chronos.enqueue(charge, { order: 'A-2', fate: 'declined' })
  for (let i = 3; i < 15; i++) await chronos.enqueue(charge, { order: `A-${i}`, fate: i % 2 === 0 ? 'ok' : 'down' })
  await chronos.enqueueMany(
    mail,
    Array.from({ length: 6 }, (_, i) => ({ to: `user${i}@example.com` })),
  )
  await chronos.enqueue(mail, { to: 'bad@example.com' })
  const waiting = await chronos.enqueue(mail, { to: 'later@example.com' }, { delay: '2h', priority: 8 })
  await chronos.enqueue('export.csv', { table: 'orders' }, { queue: 'exports' })
  await chronos.queues.pause('exports')
  await chronos.enqueue(sync)
  const worker = chronos.work([charge, mail, sync], {
    concurrency: 10,
    signals: false,
    maintenance: false,
    build: 'v1',
  })
  await ended
  const retrying = await retried
  await chronos.schedules.put('weekly-digest', {
    cron: '0 0 9 * * MON',
    timeZone: 'Europe/Paris',
    job: mail,
    payload: { to: 'all@example.com' },
  })
  await chronos.schedules.put('night-report', {
    cron: '30 2 * * *',
    timeZone: 'America/New_York',
    job: 'report',
    payload: {},
  })
  await chronos.schedules.pause('night-report')
  const webhook = await chronos.webhooks.create({ url: 'https://shop.example/hooks', events: ['job.dead'] })
  // A dependency is stored shortly after its first job.
  await vi.waitUntil(async () => (await chronos.circuits.list()).data.length > 0, { timeout: 120_000 })
  await chronos.circuits.open('api.example')
  // Alert rules are evaluated at once, and then only twice a minute.
  chronos.maintain()
  await vi.waitUntil(async () => (await chronos.alerts.list()).data.length >= ALERTS, { timeout: 120_000 })
  const { data: groups } = await chronos.dead.groups()
  // A worker has a page after its first heartbeat.
  await vi.waitUntil(async () => (await chronos.workers()).some(({ id }) => id === worker.id), { timeout: 120_000 })
  const fingerprint = groups.find(({ title }) => title.includes('gateway'))!.fingerprint
  const redrive = await chronos.dead.redrive({ reason: 'permanent' }, { canary: 0, rate: '100/s' })
  return {
    ...t,
    ids: {
      succeeded: good.id,
      dead: declined.id,
      retrying,
      waiting: waiting.id,
      fingerprint,
      redrive: redrive.id,
      webhook: webhook.id,
      worker: worker.id,
    },
  }
}

/** Resolves when this many jobs have ended. */
function endsOf({ chronos }: TestServer, count: number): Promise<void> {
  return new Promise(resolve => {
    let left = count
    const one = (): void => {
      if (--left === 0) resolve()
    }
    chronos.on('job.succeeded', one)
    chronos.on('job.dead', one)
  })
}
