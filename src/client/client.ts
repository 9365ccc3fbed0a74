import { JOB_ROUTES } from '../core/api/job-routes.js'
import type { HttpRequest } from '../core/http/request.js'
import { type EnqueueOptions, enqueueOptions } from '../core/job/options.js'
import { toPayload } from '../core/job/payload.js'
import { turnOf } from '../core/partition/definition.js'
import { ChronosError, shown } from '../core/values/error.js'
import { BATCH_MAX } from '../core/values/limits.js'
import { present } from '../core/values/present.js'
import { read } from '../core/values/schema.js'
import { parseWith } from '../core/values/standard-schema.js'
import type { Chronos } from '../engine/client/chronos.js'
import type { JobDefinition } from '../engine/client/definition.js'
import type { EnqueueManyResult, EnqueueResult, JobReference } from '../engine/client/enqueuer.js'
import type { FollowOptions } from '../engine/results/follow.js'
import type { WaitOptions } from '../engine/results/waiters.js'
import type { MethodName } from '../server/library.js'
import { correct, type Method, remoteMethods } from './calls.js'
import { type ClientOptions, parseClientOptions } from './options.js'
import type { Hints } from './problem.js'
import { Rest } from './rest.js'
import { endedJob, followRemotely, resultIn } from './results.js'
import { webClock, webDice } from './system.js'

type Jobs = Chronos['jobs']

/** Enqueues jobs and waits for them through the REST API of a server. It throws the errors of the library. */
export interface ChronosClient {
  readonly enqueue: Chronos['enqueue']
  /** Up to 1,000 jobs are sent in one request; each job is enqueued by itself. */
  readonly enqueueMany: Chronos['enqueueMany']
  /** Enqueues an HTTP request as a job; every worker can run it. */
  readonly http: Chronos['http']
  readonly jobs: Pick<
    Jobs,
    'get' | 'list' | 'cancel' | 'retry' | 'runNow' | 'history' | 'logs' | 'result' | 'ended' | 'follow'
  >
}

const HINTS: Hints = {
  token: 'give createClient a `token` of `chronos tokens create`',
  url: 'give createClient the `url` of a server without /api',
  server: '`chronos serve` starts one',
}

/** How many jobs one request creates. */
const REQUEST_MAX = 1_000
const ROUTES = Object.values(JOB_ROUTES)

export function clientOf(options: ClientOptions): ChronosClient {
  const { url, token, fetch: given } = parseClientOptions(options)
  const rest = new Rest({ url, token, clock: webClock, dice: webDice, hints: HINTS, isPatient: true, fetch: given })
  const methods = remoteMethods(ROUTES, rest)
  const method = (name: MethodName): Method => correct(name, methods.get(name)!)
  const get = method('jobs.get')
  const ended = (id: string, wait?: WaitOptions) => endedJob(rest, webClock, id, wait)
  return {
    enqueue: async (job: JobReference<never>, payload?: unknown, enqueue: EnqueueOptions = {}) => {
      const { name, ...fields } = await newJob(job, payload, enqueue)
      return (await method('enqueue')(name, fields.payload, fields)) as EnqueueResult
    },
    enqueueMany: async (job: JobReference<never>, payloads: readonly unknown[], enqueue: unknown = {}) =>
      enqueueMany(rest, job, payloads, enqueue as EnqueueOptions),
    http: async (request: HttpRequest, enqueue: EnqueueOptions = {}) =>
      (await method('http')(request, checkedOptions(enqueue, 'http'))) as EnqueueResult,
    jobs: {
      get: (first: unknown, second?: string) => get(second ?? first),
      list: method('jobs.list'),
      cancel: method('jobs.cancel'),
      retry: method('jobs.retry'),
      runNow: method('jobs.runNow'),
      history: method('jobs.history'),
      logs: method('jobs.logs'),
      async result(job: string | JobDefinition, id: string, wait?: WaitOptions) {
        return resultIn(await ended(id, wait), typeof job === 'string' ? job : job.name)
      },
      async ended(id: string, wait?: WaitOptions) {
        const { attempts: _, ...job } = await ended(id, wait)
        return job
      },
      follow: (id: string, follow?: FollowOptions) => followRemotely(rest, webClock, id, follow),
    },
  } as unknown as ChronosClient
}

type NewJob = { readonly name: string; readonly payload: unknown } & EnqueueOptions

/**
 * The job as the API takes it. The server may not have the definition, so what is decided at the enqueue comes from here;
 * the policy and the timeout come from the worker that runs it.
 */
async function newJob(job: JobReference<never>, payload: unknown, options: EnqueueOptions): Promise<NewJob> {
  if (typeof job === 'string') return { name: job, payload: checkedPayload(payload), ...checkedOptions(options, job) }
  const { name, schema, queue, priority, delivery, tags, dependsOn, deadlineMs } = job
  const given = checkedOptions(options, name)
  const input = schema ? await parseWith(schema, payload, `payload of "${name}"`) : payload
  const defined = present({ queue, priority, delivery, tags, dependsOn, deadline: deadlineMs })
  return { name, payload: checkedPayload(payload), ...defined, ...given, ...present(turnOf(job, given, input)) }
}

/** Refuses what JSON would change silently. */
function checkedPayload(payload: unknown): unknown {
  toPayload(payload, 'payload')
  return payload ?? null
}

function checkedOptions(options: EnqueueOptions, name: string): EnqueueOptions {
  const given = read(enqueueOptions, options, `enqueue "${name}":`)
  if (given.tx === undefined) return given
  throw new ChronosError(
    'INVALID_OPTION',
    `enqueue "${name}": tx: a client has no transactions; enqueue with the library`,
  )
}

type PerPayload = (payload: unknown, index: number) => EnqueueOptions

interface BatchAnswer {
  readonly data: readonly {
    readonly status: 'created' | 'existing' | 'replaced' | 'refused'
    readonly id?: string
    readonly warnings?: readonly string[]
    readonly code?: string
    readonly detail?: string
  }[]
}

async function enqueueMany(
  rest: Rest,
  job: JobReference<never>,
  payloads: readonly unknown[],
  options: EnqueueOptions | PerPayload,
): Promise<readonly EnqueueManyResult[]> {
  if (!Array.isArray(payloads) || payloads.length > BATCH_MAX) {
    const got = Array.isArray(payloads) ? `${payloads.length} jobs` : shown(payloads)
    throw new ChronosError(
      'INVALID_OPTION',
      `enqueueMany: expected an array of at most ${BATCH_MAX} payloads, got ${got}`,
    )
  }
  const optionsOf: PerPayload = typeof options === 'function' ? options : () => options
  // All are checked before the first is sent.
  const jobs = await Promise.all(payloads.map((payload, index) => newJob(job, payload, optionsOf(payload, index))))
  const results: EnqueueManyResult[] = []
  for (let from = 0; from < jobs.length; from += REQUEST_MAX) {
    const { method, path } = JOB_ROUTES.batch
    const body = { jobs: jobs.slice(from, from + REQUEST_MAX) }
    const { data } = (await rest.call(method, path, { body, creates: true })) as BatchAnswer
    results.push(...data.map(resultOf))
  }
  return results
}

/** A key that belongs to another payload is reported in its place, as in the library; any other refusal is an error. */
function resultOf({ status, id, warnings, code, detail }: BatchAnswer['data'][number]): EnqueueManyResult {
  if (status !== 'refused') return present({ id: id!, status, warnings })
  const existing = /belongs to job (\S+)/.exec(detail ?? '')?.[1]
  if (code === 'KEY_CONFLICT' && existing !== undefined) return { id: existing, status: 'conflict' }
  throw new ChronosError('INVALID_OPTION', detail ?? 'enqueueMany: a job was refused', { details: present({ code }) })
}
