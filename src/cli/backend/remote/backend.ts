import type { RuleView } from '../../../core/alert/rules.js'
import { ChronosError } from '../../../core/values/error.js'
import type { Rate } from '../../../core/values/rate.js'
import type { CircuitView } from '../../../engine/dependencies/circuits.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { systemClock, systemDice } from '../../../engine/time/system.js'
import type { WorkerView } from '../../../engine/worker/fleet.js'
import type { TokenView } from '../../../server/access/tokens.js'
import type { QueueRecord, StoreInfo } from '../../../store/store.js'
import type { Backend } from '../backend.js'
import { remoteEnqueue, remoteJobs } from './jobs.js'
import { noChronos } from './problem.js'
import { part, Rest } from './rest.js'
import { queryFilter, wireFilter, withTimes } from './wire.js'

interface All<T> {
  readonly data: readonly T[]
}

/** The check reads every job of the store. */
const VERIFY_TIMEOUT_MS = 600_000

/** A backend that calls the REST API of a server. */
export function remoteBackend({ url, token }: { readonly url: string; readonly token?: string }): Backend {
  const rest = new Rest({ url, token, clock: systemClock, dice: systemDice })
  return {
    jobs: remoteJobs(rest),
    queues: queues(rest),
    schedules: schedules(rest),
    dead: dead(rest),
    redrives: redrives(rest),
    circuits: circuits(rest),
    webhooks: webhooks(rest),
    alerts: alerts(rest),
    tokens: tokens(rest),
    enqueue: (name, payload, options) => remoteEnqueue(rest, name, payload, options),
    stats: () => rest.get('/stats'),
    workers: async () => (await rest.get<All<WorkerView>>('/workers')).data,
    verify: () => rest.get('/system/verify', { timeoutMs: VERIFY_TIMEOUT_MS }),
    info: () => info(rest),
    close: async () => undefined,
  }
}

function queues(rest: Rest): Backend['queues'] {
  const at = (name: string): string => `/queues/${part(name)}`
  // The API returns the full report of a queue.
  const record = ({ name, paused, retry }: QueueReport): QueueRecord => ({ name, paused, ...(retry && { retry }) })
  return {
    report: async () => (await rest.get<All<QueueReport>>('/queues')).data,
    set: async (name, settings) => record(await rest.put(at(name), { body: settings })),
    pause: async name => record(await rest.post(`${at(name)}/pause`)),
    resume: async name => record(await rest.post(`${at(name)}/resume`)),
  }
}

function schedules(rest: Rest): Backend['schedules'] {
  const at = (id: string): string => `/schedules/${part(id)}`
  return {
    list: (page = {}) => rest.get('/schedules', { query: { ...page } }),
    put: (id, options, { version } = {}) =>
      rest.put(at(id), {
        body: withTimes(options, ['startAt', 'endAt']),
        ifMatch: version === undefined ? undefined : String(version),
      }),
    pause: id => rest.post(`${at(id)}/pause`),
    resume: id => rest.post(`${at(id)}/resume`),
    async run(id) {
      const { id: jobId, status } = await rest.post<{ id: string; status: 'created' }>(`${at(id)}/run`, {
        creates: true,
      })
      return { id: jobId, status }
    },
    delete: id => rest.delete(at(id)),
  }
}

function dead(rest: Rest): Backend['dead'] {
  const at = (fingerprint: string): string => `/dead/groups/${part(fingerprint)}`
  const redrive = (query: object, options: object = {}): Promise<never> =>
    rest.post('/redrives', { body: { filter: wireFilter(query), ...options }, creates: true })
  return {
    async list(query = {}, page = {}) {
      const { data, page: next } = await rest.get<Awaited<ReturnType<Backend['dead']['list']>>>('/dead', {
        query: { ...queryFilter(query), ...page },
      })
      return { data, page: next }
    },
    groups: (query = {}) => rest.get('/dead/groups', { query: { ...query } }),
    async group(fingerprint, tenantId) {
      type Found = Awaited<ReturnType<Backend['dead']['group']>> & { readonly jobs: unknown }
      const { jobs: _, ...group } = await rest.get<Found>(at(fingerprint), { query: { tenantId } })
      return group
    },
    setGroup: (fingerprint, state, tenantId) => rest.patch(at(fingerprint), { query: { tenantId }, body: { state } }),
    redrive,
    // The command has already checked that `--all` was given.
    acknowledge: (query, options = {}) =>
      rest.post('/dead/acknowledge', { body: { filter: wireFilter(query), all: true, ...options } }),
    discard: (query, options = {}) =>
      rest.post('/dead/discard', { body: { filter: wireFilter(query), all: true, ...options } }),
  }
}

function redrives(rest: Rest): Backend['redrives'] {
  const at = (id: string): string => `/redrives/${part(id)}`
  return {
    list: (page = {}) => rest.get('/redrives', { query: { ...page } }),
    get: id => rest.get(at(id)),
    pause: id => rest.post(`${at(id)}/pause`),
    resume: id => rest.post(`${at(id)}/resume`),
    abort: id => rest.post(`${at(id)}/abort`),
    setRate: (id: string, rate: Rate) => rest.patch(at(id), { body: { rate } }),
  }
}

function circuits(rest: Rest): Backend['circuits'] {
  const at = (key: string): string => `/circuits/${part(key)}`
  return {
    list: async () => (await rest.get<All<CircuitView>>('/circuits')).data,
    open: (key, query = {}) => rest.post(`${at(key)}/open`, { query: { ...query } }),
    close: (key, { tenantId, ...body } = {}) => rest.post(`${at(key)}/close`, { query: { tenantId }, body }),
  }
}

function webhooks(rest: Rest): Backend['webhooks'] {
  const at = (id: string): string => `/webhooks/${part(id)}`
  return {
    list: (page = {}) => rest.get('/webhooks', { query: { ...page } }),
    create: input => rest.post('/webhooks', { body: input, creates: true }),
    delete: id => rest.delete(at(id)),
    enable: id => rest.post(`${at(id)}/enable`),
    disable: id => rest.post(`${at(id)}/disable`),
    rotateSecret: id => rest.post(`${at(id)}/rotate-secret`, { creates: true }),
    async test(id) {
      const delivery = await rest.post<{ readonly id: string }>(`${at(id)}/test`, { creates: true })
      return { id: delivery.id }
    },
    deliveries: (id, query = {}) => rest.get(`${at(id)}/deliveries`, { query: { ...query } }),
    recover: (id, options) => rest.post(`${at(id)}/recover`, { body: withTimes(options, ['since']), creates: true }),
  }
}

function alerts(rest: Rest): Backend['alerts'] {
  return {
    list: (query = {}) => rest.get('/alerts', { query: { ...query } }),
    rules: async () => (await rest.get<All<RuleView>>('/alerts/rules')).data,
    setRules: async changes => (await rest.put<All<RuleView>>('/alerts/rules', { body: changes })).data,
    silences: () => rest.get('/alerts/silences'),
    silence: input => rest.post('/alerts/silences', { body: withTimes(input, ['until']), creates: true }),
    unsilence: id => rest.delete(`/alerts/silences/${part(id)}`),
  }
}

function tokens(rest: Rest): Backend['tokens'] {
  return {
    create: input => rest.post('/tokens', { body: input, creates: true }),
    list: async () => (await rest.get<All<TokenView>>('/tokens')).data,
    revoke: id => rest.delete(`/tokens/${part(id)}`),
  }
}

interface System {
  readonly now: string
  readonly store: Omit<StoreInfo, 'now'>
}

/** A token of a tenant may not read it; then the clock of this process is used. */
async function info(rest: Rest): Promise<StoreInfo> {
  try {
    const { now, store } = await rest.get<Partial<System>>('/system')
    if (now === undefined || store === undefined) throw noChronos(rest.url, '/system has no store')
    const { kind, schemaVersion, engine, durability } = store
    return { kind, schemaVersion, engine, durability, now: Date.parse(now), location: rest.url }
  } catch (error) {
    if (!(error instanceof ChronosError) || error.details['code'] !== 'FORBIDDEN') throw error
    const unknown = { kind: 'memory', schemaVersion: 0, engine: 'unknown', durability: 'none' } as const
    return { ...unknown, now: systemClock.now(), location: rest.url }
  }
}
