import { ChronosError } from '../core/values/error.js'
import type { Endpoint } from '../server/endpoint.js'
import type { LibraryCall, MethodName } from '../server/library.js'
import type { Asked, Rest } from './rest.js'

export type Method = (...given: readonly unknown[]) => Promise<unknown>
export type Fields = Readonly<Record<string, unknown>>

/** The part of an endpoint that a client needs: where it is, and which methods of the library it makes available. */
export type Route = Pick<Endpoint, 'method' | 'path' | 'call' | 'creates' | 'takesLong'>

/** The methods that endpoints declare, with the response as it is. */
export function remoteMethods(routes: readonly Route[], rest: Pick<Rest, 'call'>): ReadonlyMap<string, Method> {
  return new Map(routes.flatMap(route => [route.call ?? []].flat().map(call => methodOf(route, call, rest))))
}

function methodOf(route: Route, call: LibraryCall, rest: Pick<Rest, 'call'>): readonly [string, Method] {
  const [, method = '', list = '', field] = /^([\w.]+)\((.*)\)(?:\.(\w+))?$/.exec(call) ?? []
  const names = list === '' ? [] : list.split(', ')
  return [
    method,
    async (...given) => {
      const answer = await rest.call(...requestOf(route, names, given))
      return field === undefined ? answer : (answer as Fields)[field]
    },
  ]
}

type Request = Parameters<Rest['call']>

/** The request of a call; `LibraryCall` explains the names. */
function requestOf(
  { method, path: template, creates, takesLong }: Route,
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
const QUEUE = only('name', 'paused', 'retry', 'limits')

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
export function correct(name: MethodName, method: Method): Method {
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
