import { jobSchema } from './job.js'
import { time } from './words.js'
import { z } from './zod.js'

export const explanationSchema = z
  .object({
    summary: z.string(),
    waiting: z.object({ because: z.string(), words: z.string(), until: time.optional() }).optional(),
    last: z.object({ words: z.string(), decision: z.unknown() }).optional(),
    next: z.object({ words: z.string(), at: time.optional(), latestAt: time.optional() }).optional(),
    details: z.array(z.string()),
  })
  .openapi('Explanation')

const span = z.object({
  kind: z.enum(['waiting', 'queued', 'running', 'ended']),
  from: z.number().openapi({ description: 'Epoch milliseconds.' }),
  to: z.number(),
})

export const timelineSchema = z
  .object({
    job: jobSchema,
    now: z.number(),
    rows: z.array(
      z.object({ label: z.string(), generation: z.number(), status: z.string(), spans: z.array(span) }).loose(),
    ),
  })
  .loose()
  .openapi('Timeline')
