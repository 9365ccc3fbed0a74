import { jobFilterBody, jobQuery, jobSchema } from './job.js'
import { count, flag, listSchema, paging, text, time } from './words.js'
import { z } from './zod.js'

const groupState = z.enum(['open', 'resolved', 'regressed', 'ignored'])

/** Selects dead jobs: the filters of jobs, without those of the state. */
export const deadQuery = jobQuery.omit({ state: true, phase: true })

export const deadFilterBody = jobFilterBody
  .omit({ state: true, phase: true, redriveId: true })
  .openapi('DeadFilter', { description: 'Selects dead jobs that match every condition.' })

export const groupQuery = z.strictObject({
  all: flag.optional().openapi({ description: 'Include groups without a dead letter, and ignored groups.' }),
  state: groupState.optional(),
  tenantId: text.optional(),
  ...paging,
})

export const byFingerprint = z.object({ fingerprint: text })
export const ofTenant = z.strictObject({
  tenantId: text.optional().openapi({ description: 'The tenant of the group; each tenant has its own groups.' }),
})

export const groupEdit = z
  .strictObject({
    state: z
      .enum(['open', 'resolved', 'ignored'])
      .openapi({ description: 'A resolved group becomes `regressed` when the error occurs again.' }),
  })
  .openapi('ErrorGroupEdit')

export const groupSchema = z
  .object({
    fingerprint: z.string(),
    tenantId: z.string().optional(),
    title: z.string(),
    error: z.string(),
    code: z.string().optional(),
    status: z.number().int().optional(),
    names: z.array(z.string()).openapi({ description: 'The names of the first ten jobs with this error.' }),
    queues: z.array(z.string()),
    failures: count.openapi({ description: 'Failed runs.' }),
    deaths: count.openapi({ description: 'Jobs that died with this error.' }),
    dead: z.number().int().openapi({ description: 'Current dead letters.' }),
    firstSeen: time,
    lastSeen: time,
    trend: z.array(z.object({ at: time, failures: count })).openapi({ description: 'Failures by hour, oldest first.' }),
    samples: z.array(z.string()).openapi({ description: 'Ids of some of the newest jobs.' }),
    state: groupState,
  })
  .openapi('ErrorGroup')

export const groupWithJobs = groupSchema
  .extend({ jobs: z.array(jobSchema).openapi({ description: 'The samples that still exist.' }) })
  .openapi('ErrorGroupWithJobs')

export const groupList = listSchema(groupSchema, 'ErrorGroupList')
