import { toMs } from '../../core/values/duration.js'
import type { ClaimOptions, ExtendOptions, LeaseEnd, Leases, ReportedError } from '../../engine/leases/leases.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import {
  claimBody,
  extendBody,
  extendedSchema,
  failBody,
  leaseEndSchema,
  leaseSchema,
  note,
  token,
} from '../schemas/lease.js'
import { duration, id } from '../schemas/words.js'
import { z } from '../schemas/zod.js'

const byJob = z.object({ jobId: id })
const WAIT_MAX_MS = 30_000
/** The claim must be answered before the request times out. */
const ANSWER_MS = 1_000

const claim = endpoint({
  method: 'post',
  path: '/leases:claim',
  takesLong: true,
  tag: 'leases',
  summary: 'Claim jobs',
  description:
    'For workers in any language. Each job comes with a lease: the right to run it until a time. ' +
    'With `wait` the response comes as soon as a job is due, or empty after that time.',
  role: 'operator',
  tenants: 'none',
  audit: 'sum',
  body: claimBody,
  answers: ok(
    z.object({ data: z.array(leaseSchema) }).openapi('Leases'),
    'Jobs with their leases; the list may be empty',
  ),
  async handle({ app, body, signal, note }): Promise<Answer> {
    const { chronos, settings, closing } = app
    const waitMs = toMs(body.wait ?? 0, 'wait', { max: WAIT_MAX_MS })
    const given = await chronos.leases.claim({
      ...(body as ClaimOptions),
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
  tag: 'leases',
  summary: 'Renew a lease, with progress and log lines',
  description:
    'A lease never exceeds the timeout of the run. 409 means that the lease is lost: the worker should stop.',
  role: 'operator',
  tenants: 'none',
  audit: 'sum',
  params: byJob,
  body: extendBody,
  answers: ok(extendedSchema, 'When the lease expires, and whether the job should stop'),
  async handle({ app, params: { jobId }, body }): Promise<Answer> {
    return { body: await app.chronos.leases.extend(jobId, body as ExtendOptions) }
  },
})

/** Reports the outcome of a run. A repeated report with the same token gets the same answer. */
function end<Body extends z.ZodObject>(
  path: string,
  summary: string,
  body: Body,
  act: (leases: Leases, jobId: string, given: never) => Promise<LeaseEnd>,
): Endpoint {
  return endpoint({
    method: 'post',
    path: `/leases/{jobId}/${path}`,
    tag: 'leases',
    summary,
    description: 'May be repeated with the same token. 409 means that the lease was lost.',
    role: 'operator',
    tenants: 'none',
    audit: 'sum',
    params: byJob,
    body,
    answers: ok(leaseEndSchema, 'The new state of the job'),
    async handle({ app, params: { jobId }, body: given }): Promise<Answer> {
      return { body: await act(app.chronos.leases, jobId, given as never) }
    },
  })
}

const completeBody = z.strictObject({ token, result: z.unknown().optional(), note: note.optional() })
const snoozeBody = z.strictObject({ token, delay: duration, note: note.optional() })
const releaseBody = z.strictObject({
  token,
  started: z.boolean().optional().openapi({ description: 'false: the worker has not started the job.' }),
})

type Proof = { readonly token: string }

export const LEASES: readonly Endpoint[] = [
  claim,
  extend,
  end('complete', 'Complete a job', completeBody, (leases, jobId, given: Proof & { result?: unknown }) =>
    leases.complete(jobId, given),
  ),
  end('fail', 'Report a failure', failBody, (leases, jobId, given: Proof & { error: ReportedError }) =>
    leases.fail(jobId, given),
  ),
  end(
    'snooze',
    'Snooze a job without using an attempt',
    snoozeBody,
    (leases, jobId, given: Proof & { delay: number }) => leases.snooze(jobId, given),
  ),
  end(
    'release',
    'Release a job without using an attempt',
    releaseBody,
    (leases, jobId, given: Proof & { started?: boolean }) => leases.release(jobId, given),
  ),
]
