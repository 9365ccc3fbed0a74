import {
  claimOptions,
  completeOptions,
  extendOptions,
  failOptions,
  releaseOptions,
  snoozeOptions,
} from '../../core/lease/options.js'
import { toMs } from '../../core/values/duration.js'
import { about, type Infer, literal, named } from '../../core/values/schema.js'
import { listOf, type ObjectSchema, object, view } from '../../core/values/shape.js'
import { type LeaseEnd, type Leases, leaseExtension } from '../../engine/leases/leases.js'
import { leaseEnd, leaseView } from '../../engine/leases/view.js'
import { counted } from '../audit-words.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { id } from './words.js'

const byJob = object({ jobId: id })
/** The claim must be answered before the request times out. */
const ANSWER_MS = 1_000

const claim = endpoint({
  method: 'post',
  path: '/leases:claim',
  did: facts => `claimed ${counted(facts, 'job')}`,
  takesLong: true,
  summary: 'Claim jobs',
  description:
    'For workers in any language. Each job comes with a lease: the right to run it until a time. ' +
    'With `wait` the response comes as soon as a job is due, or empty after that time.',
  role: 'operator',
  tenants: 'none',
  audit: 'sum',
  body: claimOptions,
  answers: ok(
    named(
      'Leases',
      view(
        { data: listOf(leaseView) },
        { draining: about(literal(true), 'The worker gets no more jobs: it should end those that it runs, and stop.') },
      ),
    ),
    'Jobs with their leases; the list may be empty',
  ),
  async handle({ app, body, signal, note }): Promise<Answer> {
    const { chronos, settings, closing } = app
    const waitMs = toMs(body.wait ?? 0, 'wait')
    const given = await chronos.leases.claim({
      ...body,
      wait: Math.min(waitMs, Math.max(0, settings.requestTimeoutMs - ANSWER_MS)),
      signal: AbortSignal.any([signal, closing]),
    })
    note({ count: given.data.length })
    return { body: given }
  },
})

const extend = endpoint({
  method: 'post',
  path: '/leases/{jobId}/extend',
  did: facts => `renewed ${counted(facts, 'lease')}`,
  summary: 'Renew a lease, with progress and log lines',
  description:
    'A lease never exceeds the timeout of the run by more than 5 s. 409 means that the lease is lost: the worker should stop.',
  role: 'operator',
  tenants: 'none',
  audit: 'sum',
  params: byJob,
  body: extendOptions,
  answers: ok(leaseExtension, 'When the lease expires, and whether the job should stop'),
  handle: async ({ app, params: { jobId }, body }) => ({ body: await app.chronos.leases.extend(jobId, body) }),
})

/** Reports the outcome of a run. A repeated report with the same token gets the same answer. */
function end<Body extends ObjectSchema>(
  path: string,
  summary: string,
  body: Body,
  act: (leases: Leases, jobId: string, given: Infer<Body>) => Promise<LeaseEnd>,
): Endpoint {
  return endpoint({
    method: 'post',
    path: `/leases/{jobId}/${path}`,
    did: facts => `reported ${path} for ${counted(facts, 'job')}`,
    summary,
    description: 'May be repeated with the same token. 409 means that the lease was lost.',
    role: 'operator',
    tenants: 'none',
    audit: 'sum',
    params: byJob,
    body,
    answers: ok(leaseEnd, 'The new state of the job'),
    handle: async ({ app, params: { jobId }, body: given }) => ({ body: await act(app.chronos.leases, jobId, given) }),
  })
}

export const LEASES: readonly Endpoint[] = [
  claim,
  extend,
  end('complete', 'Complete a job', completeOptions, (leases, jobId, given) => leases.complete(jobId, given)),
  end('fail', 'Report a failure', failOptions, (leases, jobId, given) => leases.fail(jobId, given)),
  end('snooze', 'Snooze a job without using an attempt', snoozeOptions, (leases, jobId, given) =>
    leases.snooze(jobId, given),
  ),
  end('release', 'Release a job without using an attempt', releaseOptions, (leases, jobId, given) =>
    leases.release(jobId, given),
  ),
]
