import type { Chronos } from '../../../../engine/client/chronos.js'
import { ECHO_PATH } from '../echo.js'

const RECOUNT = 'warehouse answered'
const REDRIVE_FROM = 5

/** Creates schedules, webhook endpoints and alert rules. Can be repeated on the same store. */
export async function setUpShop(chronos: Chronos, url: string): Promise<void> {
  const { schedules } = chronos
  const echo = `${url}${ECHO_PATH.slice(1)}`
  await Promise.all([
    schedules.put('nightly-report', {
      cron: '30 2 * * *',
      timeZone: 'Europe/Berlin',
      job: 'nightly-report',
      queue: 'reports',
    }),
    schedules.put('hourly-figures', {
      cron: '0 * * * *',
      timeZone: 'America/New_York',
      job: 'nightly-report',
      queue: 'reports',
    }),
    schedules.put('stock-check', {
      every: '20s',
      job: 'sync-stock',
      queue: 'stock',
      payload: { sku: 'SKU-1000' },
      overlap: 'skip',
    }),
    schedules.put('ping-partner', { every: '30s', http: { method: 'POST', url: `${echo}?fail=1`, body: {} } }),
    schedules.put('weekly-digest', {
      cron: '0 9 * * MON',
      timeZone: 'Europe/Paris',
      job: 'send-mail',
      queue: 'mail',
      payload: { to: 'all@mail.example' },
    }),
  ])
  await schedules.pause('weekly-digest')
  await addEndpoint(chronos, { url: echo, events: ['job.dead', 'circuit.opened', 'circuit.closed'] })
  await addEndpoint(chronos, { url: `${echo}?status=500`, events: ['job.dead'], queues: ['payments', 'mail'] })
  await addEndpoint(chronos, {
    url: `${echo}?delay=400ms`,
    events: ['job.succeeded'],
    queues: ['exports'],
    tenantId: 'acme',
  })
  // The default of five minutes is too long for a demo.
  await chronos.alerts.setRules({ 'dead-letters': { for: '20s', fire: 3, clear: 1 }, 'retry-rate': { for: '30s' } })
}

async function addEndpoint(chronos: Chronos, input: Parameters<Chronos['webhooks']['create']>[0]): Promise<void> {
  const { data } = await chronos.webhooks.list({ limit: 200 })
  const same = data.find(({ url, events }) => url === input.url && events.join() === input.events.join())
  if (!same) await chronos.webhooks.create(input)
}

/** Acts as an operator: redrives some dead jobs, resolves a group and acknowledges another. */
export async function tendShop({ dead, redrives }: Chronos): Promise<void> {
  const { data: groups } = await dead.groups()
  const { data: running } = await redrives.list({ limit: 5 })
  const isBusy = running.some(({ state }) => state === 'canary' || state === 'running')
  const recount = groups.find(({ title, dead: count }) => title.includes(RECOUNT) && count >= REDRIVE_FROM)
  if (recount && !isBusy) await dead.redrive({ fingerprint: recount.fingerprint }, { rate: '3/s', canary: 3 })
  const mailbox = groups.find(({ title, state }) => title.includes('mailbox') && state === 'open')
  if (mailbox) await dead.setGroup(mailbox.fingerprint, 'resolved', mailbox.tenantId)
  const declined = groups.find(({ title }) => title.includes('declined'))
  if (declined) await dead.acknowledge({ fingerprint: declined.fingerprint })
}
