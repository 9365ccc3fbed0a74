import { jobFilterBody, jobQuery, jobSchema } from './job.js'
import { count, flag, listSchema, paging, text, time } from './words.js'
import { z } from './zod.js'

const groupState = z.enum(['open', 'resolved', 'regressed', 'ignored'])

/** Which dead jobs: the filters of jobs, without those that say what state they are in. */
export const deadQuery = jobQuery.omit({ state: true, phase: true })

export const deadFilterBody = jobFilterBody
  .omit({ state: true, phase: true, redriveId: true })
  .openapi('DeadFilter', { description: 'Which dead jobs; conditions add up.' })

export const groupQuery = z.strictObject({
  all: flag.optional().openapi({ description: 'Also those without a dead letter, and ignored ones.' }),
  state: groupState.optional(),
  tenantId: text.optional(),
  ...paging,
})

export const byFingerprint = z.object({ fingerprint: text })
export const ofTenant = z.strictObject({
  tenantId: text.optional().openapi({ description: 'Whose group; every tenant has its own.' }),
})

export const groupEdit = z
  .strictObject({
    state: z
      .enum(['open', 'resolved', 'ignored'])
      .openapi({ description: 'A resolved one comes back as `regressed` when it is seen again.' }),
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
    names: z.array(z.string()).openapi({ description: 'Jobs that it was seen in, the first ten.' }),
    queues: z.array(z.string()),
    failures: count.openapi({ description: 'Failed runs.' }),
    deaths: count.openapi({ description: 'Jobs that died of it.' }),
    dead: z.number().int().openapi({ description: 'Dead letters that are there now.' }),
    firstSeen: time,
    lastSeen: time,
    trend: z.array(z.object({ at: time, failures: count })).openapi({ description: 'By hour, oldest first.' }),
    samples: z.array(z.string()).openapi({ description: 'Ids of some of the newest jobs.' }),
    state: groupState,
  })
  .openapi('ErrorGroup')

export const groupWithJobs = groupSchema
  .extend({ jobs: z.array(jobSchema).openapi({ description: 'The samples, as far as they are still there.' }) })
  .openapi('ErrorGroupWithJobs')

export const groupList = listSchema(groupSchema, 'ErrorGroupList')
