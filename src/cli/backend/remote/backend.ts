import { ChronosError } from '../../../core/values/error.js'
import { HTTP_JOB, type JobDefinition } from '../../../engine/client/definition.js'
import type { WaitOptions } from '../../../engine/results/waiters.js'
import { systemClock, systemDice } from '../../../engine/time/system.js'
import type { Endpoint } from '../../../server/endpoint.js'
import type { LibraryCall, MethodName } from '../../../server/library.js'
import { ENDPOINTS } from '../../../server/routes/all.js'
import type { StoreInfo } from '../../../store/store.js'
import type { Backend } from '../backend.js'
import { noChronos } from './problem.js'
import { type Asked, Rest } from './rest.js'
import { endedJob, resultIn } from './results.js'

type Method = (...given: readonly unknown[]) => Promise<unknown>
type Fields = Readonly<Record<string, unknown>>

/** A backend that calls the REST API of a server. The endpoints declare the methods that they make available. */
export function remoteBackend({ url, token }: { readonly url: string; readonly token?: string }): Backend {
  const rest = new Rest({ url, token, clock: systemClock, dice: systemDice })
  const methods = remoteMethods(rest)
  const own: Readonly<Record<string, Method>> = {
    // The API knows a call to a URL by its field `http`.
    enqueue: (name, payload, options) =>
      name === HTTP_JOB ? methods.get('http')!(payload, options) : methods.get('enqueue')!(name, payload, options),
    // The server counts up to 10,000 and says "at least" beyond that.
    'jobs.count': async query => ((await methods.get('jobs.list')!(query, { limit: 1 })) as Fields)['count'],
    'jobs.ended': async (id, options) => {
      const { attempts: _, ...job } = await endedJob(rest, systemClock, id as string, options as WaitOptions)
      return job
    },
    'jobs.result': async (job, id, options) => {
      const name = typeof job === 'string' ? job : (job as JobDefinition).name
      return resultIn(await endedJob(rest, systemClock, id as string, options as WaitOptions), name)
    },
    'byId.count': async query => ((await methods.get('byId.list')!(query, { limit: 1 })) as Fields)['count'],
    info: () => info(rest),
    close: async () => undefined,
  }
  const backend: Record<string, unknown> = {}
  for (const [name, method] of [...methods, ...Object.entries(own)]) {
    const [part = '', below] = name.split('.')
    const corrected = correct(name as MethodName, method)
    if (below === undefined) backend[part] = corrected
    else backend[part] = { ...(backend[part] as object), [below]: corrected }
  }
  return backend as Backend
}

/** The methods that endpoints declare, with the response as it is. */
export function remoteMethods(rest: Pick<Rest, 'call'>): ReadonlyMap<string, Method> {
  return new Map(
    ENDPOINTS.flatMap(endpoint => [endpoint.call ?? []].flat().map(call => methodOf(endpoint, call, rest))),
  )
}

function methodOf(endpoint: Endpoint, call: LibraryCall, rest: Pick<Rest, 'call'>): readonly [string, Method] {
  const [, method = '', list = '', field] = /^([\w.]+)\((.*)\)(?:\.(\w+))?$/.exec(call) ?? []
  const names = list === '' ? [] : list.split(', ')
  return [
    method,
    async (...given) => {
      const answer = await rest.call(...requestOf(endpoint, names, given))
      return field === undefined ? answer : (answer as Fields)[field]
    },
  ]
}

type Request = Parameters<Rest['call']>

/** The request of a call; `LibraryCall` explains the names. */
function requestOf(
  { method, path: template, creates, takesLong }: Endpoint,
  names: readonly string[],
  given: readonly unknown[],
): Request {
  let path = template
  let ifMatch: unknown
  const query: Record<string, unknown> = {}
  const body: Record<string, unknown> = {}
  const fields = method === 'get' ? query : body
  names.forEach((name, i) => {
    const value = given[i]
    const [field = '', fixed] = name.split('=')
    if (fixed !== undefined) fields[field] = JSON.parse(fixed)
    else if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(String(value)))
    else if (name === '...') Object.assign(fields, value)
    else if (name === 'ifMatch') ifMatch = (value as { readonly version?: unknown } | undefined)?.version
    else if (name.startsWith('?')) query[name.slice(1)] = value
    else fields[name] = value
  })
  const asked: Asked = {
    query,
    body: method === 'get' || method === 'delete' ? undefined : body,
    ifMatch,
    creates: creates && true,
    takesLong,
  }
  return [method, path, asked]
}

const only =
  (...names: readonly string[]) =>
  (answer: Fields): Fields =>
    Object.fromEntries(Object.entries(answer).filter(([name]) => names.includes(name)))
const without =
  (...names: readonly string[]) =>
  (answer: Fields): Fields =>
    Object.fromEntries(Object.entries(answer).filter(([name]) => !names.includes(name)))

const ENQUEUED = only('id', 'status', 'warnings')
const QUEUE = only('name', 'paused', 'retry')

/** Responses of the API that contain more than the result of the method. */
const RESULTS: Readonly<Partial<Record<MethodName, (answer: Fields) => unknown>>> = {
  // The jobs, and how many there are.
  'jobs.list': without('count'),
  'byId.list': without('count'),
  'dead.list': without('count'),
  // The group, and its newest jobs.
  'dead.group': without('jobs'),
  // The whole job.
  enqueue: ENQUEUED,
  http: ENQUEUED,
  'jobs.replay': ENQUEUED,
  'byId.replay': ENQUEUED,
  'schedules.run': ENQUEUED,
  'webhooks.test': only('id'),
  // The report of the queue.
  'queues.set': QUEUE,
  'queues.pause': QUEUE,
  'queues.resume': QUEUE,
  // With its attempts; the id of a schedule is not that of a job.
  'jobs.get': answer => (answer['kind'] === 'schedule' ? undefined : without('attempts')(answer)),
  'byId.get': without('attempts'),
}

/** Methods that return undefined where the API answers 404. */
const MAYBE: ReadonlySet<string> = new Set<MethodName>(['jobs.get', 'byId.get', 'schedules.get'])

/** Removes what the API does differently from the library. */
function correct(name: MethodName, method: Method): Method {
  const resultOf = RESULTS[name]
  return async (...given) => {
    try {
      const answer = await method(...given)
      return resultOf ? resultOf(answer as Fields) : answer
    } catch (error) {
      if (MAYBE.has(name) && error instanceof ChronosError && error.code === 'NOT_FOUND') return undefined
      throw error
    }
  }
}

interface System {
  readonly now: string
  readonly store: Omit<StoreInfo, 'now'>
}

/** A token of a tenant may not read it; then the clock of this process is used. */
async function info(rest: Rest): Promise<StoreInfo> {
  try {
    const { now, store } = (await rest.call('get', '/system')) as Partial<System>
    if (now === undefined || store === undefined) throw noChronos(rest.url, '/system has no store')
    const { kind, schemaVersion, engine, durability } = store
    return { kind, schemaVersion, engine, durability, now: Date.parse(now), location: rest.url }
  } catch (error) {
    if (!(error instanceof ChronosError) || error.details['code'] !== 'FORBIDDEN') throw error
    const unknown = { kind: 'memory', schemaVersion: 0, engine: 'unknown', durability: 'none' } as const
    return { ...unknown, now: systemClock.now(), location: rest.url }
  }
}
