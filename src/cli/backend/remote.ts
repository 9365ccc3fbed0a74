import { correct, type Fields, type Method, remoteMethods } from '../../client/calls.js'
import { noChronos } from '../../client/problem.js'
import { Rest } from '../../client/rest.js'
import { endedJob, followRemotely, resultIn } from '../../client/results.js'
import { ChronosError } from '../../core/values/error.js'
import { HTTP_JOB, type JobDefinition } from '../../engine/client/definition.js'
import type { FollowOptions } from '../../engine/results/follow.js'
import type { WaitOptions } from '../../engine/results/waiters.js'
import { systemClock, systemDice } from '../../engine/time/system.js'
import type { MethodName } from '../../server/library.js'
import { ENDPOINTS } from '../../server/routes/all.js'
import type { StoreInfo } from '../../store/store.js'
import type { Backend } from './backend.js'
import { HINTS } from './hints.js'

/** A backend that calls the REST API of a server. The endpoints declare the methods that they make available. */
export function remoteBackend({ url, token }: { readonly url: string; readonly token?: string }): Backend {
  const rest = new Rest({ url, token, clock: systemClock, dice: systemDice, hints: HINTS })
  const methods = remoteMethods(ENDPOINTS, rest)
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
  const follow = (id: string, options?: FollowOptions) => followRemotely(rest, systemClock, id, options)
  return { ...backend, jobs: { ...(backend['jobs'] as object), follow } } as unknown as Backend
}

interface System {
  readonly now: string
  readonly store: Omit<StoreInfo, 'now'>
}

/** A token of a tenant may not read it; then the clock of this process is used. */
async function info(rest: Rest): Promise<StoreInfo> {
  try {
    const { now, store } = (await rest.call('get', '/system')) as Partial<System>
    if (now === undefined || store === undefined) throw noChronos(rest.url, '/system has no store', HINTS)
    const { kind, schemaVersion, engine, durability } = store
    return { kind, schemaVersion, engine, durability, now: Date.parse(now), location: rest.url }
  } catch (error) {
    if (!(error instanceof ChronosError) || error.details['code'] !== 'FORBIDDEN') throw error
    const unknown = { kind: 'memory', schemaVersion: 0, engine: 'unknown', durability: 'none' } as const
    return { ...unknown, now: systemClock.now(), location: rest.url }
  }
}
