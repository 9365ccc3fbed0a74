import { deadFilterBody } from './dead.js'
import { count, countSchema, listSchema, paging, share, text, time } from './words.js'
import { z } from './zod.js'

const rate = z
  .union([z.string().min(1).max(40), z.number().positive()])
  .openapi({ description: 'Starts per second, minute or hour: 20/s, 600/m, 5000/h.', example: '20/s' })

const state = z.enum(['canary', 'running', 'paused', 'stopped', 'done', 'aborted'])

/** The rate of a redrive and its safeguards. */
export const redriveOptions = {
  rate: rate.optional(),
  canary: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .openapi({ description: 'How many jobs run first, while the others wait for their outcome.' }),
  stopWhenFailing: share.optional().openapi({ description: 'The redrive stops when this share of jobs fails again.' }),
  force: z.boolean().optional().openapi({ description: 'Include jobs with unknown outcome, which may run twice.' }),
}

export const newRedrive = z
  .strictObject({
    filter: deadFilterBody,
    ...redriveOptions,
    dryRun: z.boolean().optional().openapi({ description: 'Change nothing, and return the number of matching jobs.' }),
  })
  .openapi('NewRedrive', { example: { filter: { queue: 'payments' }, rate: '20/s', canary: 10, stopWhenFailing: 0.2 } })

export const redriveEdit = z.strictObject({ rate }).openapi('RedriveEdit')

/** The stored form, in which times are epoch milliseconds. */
const filter = z
  .object({
    ids: z.array(z.string()).optional(),
    queue: z.string().optional(),
    name: z.string().optional(),
    tenantId: z.string().optional(),
    key: z.string().optional(),
    tag: z.string().optional(),
    reason: z.string().optional(),
    fingerprint: z.string().optional(),
    dependency: z.string().optional(),
    scheduleId: z.string().optional(),
    error: z.string().optional(),
    text: z.string().optional(),
    acknowledged: z.boolean().optional(),
    createdAfter: z.number().optional().openapi({ description: 'Epoch milliseconds.' }),
    createdBefore: z.number().optional().openapi({ description: 'Epoch milliseconds.' }),
  })
  .openapi('RedriveFilter')

export const redriveSchema = z
  .object({
    id: z.string(),
    tenantId: z.string().optional(),
    state,
    why: z.string().optional().openapi({ description: 'Why the redrive was stopped.' }),
    filter,
    rate: z.string(),
    canary: count,
    stopWhenFailing: share,
    total: countSchema,
    started: count,
    succeeded: count,
    failing: count.openapi({ description: 'Jobs that died again or wait for a retry.' }),
    results: z.object({
      pending: count,
      running: count,
      retrying: count,
      succeeded: count,
      dead: count,
      cancelled: count,
    }),
    skipped: count.openapi({ description: 'Jobs that were discarded, or have an unknown outcome and no `force`.' }),
    conflicts: z.array(z.object({ jobId: z.string(), conflictId: z.string() })),
    conflictCount: count,
    createdAt: time,
    finishedAt: time.optional(),
  })
  .openapi('Redrive')

export const redriveQuery = z.strictObject({ tenantId: text.optional(), ...paging })
export const redriveList = listSchema(redriveSchema, 'RedriveList')

export const dryRunSchema = z
  .object({ dryRun: z.literal(true), count: countSchema, skipped: count })
  .openapi('RedriveDryRun')
