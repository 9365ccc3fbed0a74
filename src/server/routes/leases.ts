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
  token,
} from '../schemas/lease.js'
import { duration, id } from '../schemas/words.js'
import { z } from '../schemas/zod.js'

const byJob = z.object({ jobId: id })
const WAIT_MAX_MS = 30_000
/** The answer must be under way before the request is given up. */
const ANSWER_MS = 1_000

const claim = endpoint({
  method: 'post',
  path: '/leases:claim',
  takesLong: true,
  tag: 'leases',
  summary: 'Take jobs to run',
  description:
    'For workers in any language. Each job comes with a lease: the right to run it until a time. ' +
    'With `wait` the answer comes as soon as there is work, or empty.',
  role: 'operator',
  tenants: 'none',
  audit: 'sum',
  body: claimBody,
  answers: ok(z.object({ data: z.array(leaseSchema) }).openapi('Leases'), 'Jobs with their leases; there may be none'),
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
  summary: 'A sign of life, with progress and log lines',
  description:
    'Never past the time that the run may take. 409 says that the run is over for this worker: it should stop.',
  role: 'operator',
  tenants: 'none',
  audit: 'sum',
  params: byJob,
  body: extendBody,
  answers: ok(extendedSchema, 'Until when the lease holds, and whether somebody wants the job to stop'),
  async handle({ app, params: { jobId }, body }): Promise<Answer> {
    return { body: await app.chronos.leases.extend(jobId, body as ExtendOptions) }
  },
})

/** The end of a run. Told again with the same token, it is answered again. */
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
    description: 'May be repeated with the same token. 409 says that the lease was lost before.',
    role: 'operator',
    tenants: 'none',
    audit: 'sum',
    params: byJob,
    body,
    answers: ok(leaseEndSchema, 'What became of the job'),
    async handle({ app, params: { jobId }, body: given }): Promise<Answer> {
      return { body: await act(app.chronos.leases, jobId, given as never) }
    },
  })
}

const completeBody = z.strictObject({ token, result: z.unknown().optional() })
const snoozeBody = z.strictObject({ token, delay: duration, note: z.string().max(1000).optional() })
const releaseBody = z.strictObject({
  token,
  started: z.boolean().optional().openapi({ description: 'false: nothing of it was begun.' }),
})

type Proof = { readonly token: string }

export const LEASES: readonly Endpoint[] = [
  claim,
  extend,
  end('complete', 'It is done', completeBody, (leases, jobId, given: Proof & { result?: unknown }) =>
    leases.complete(jobId, given),
  ),
  end('fail', 'It failed', failBody, (leases, jobId, given: Proof & { error: ReportedError }) =>
    leases.fail(jobId, given),
  ),
  end('snooze', 'Not yet; at no cost', snoozeBody, (leases, jobId, given: Proof & { delay: number }) =>
    leases.snooze(jobId, given),
  ),
  end('release', 'Hand it back; at no cost', releaseBody, (leases, jobId, given: Proof & { started?: boolean }) =>
    leases.release(jobId, given),
  ),
]
