import { count, listSchema, text, time } from './words.js'
import { z } from './zod.js'

export const byKey = z.object({ key: text })

const tenantId = text
  .optional()
  .openapi({ description: 'The circuit of this tenant; without it, of jobs without a tenant.' })
export const ofTenant = z.strictObject({ tenantId })

export const circuitSchema = z
  .object({
    key: z.string(),
    tenantId: z.string().optional().openapi({ description: 'Only the jobs of this tenant share the circuit.' }),
    state: z.enum(['closed', 'open', 'half-open', 'ramping']),
    forced: z.enum(['open', 'closed']).optional().openapi({ description: 'An operator forced this state.' }),
    reason: z.string().optional(),
    since: time,
    openUntil: time.optional().openapi({ description: 'When the next probe may be sent.' }),
    notBefore: time
      .optional()
      .openapi({ description: 'The dependency asked for no calls before this time (`Retry-After`).' }),
    openings: count,
    probeJobId: z.string().optional(),
    calls: z.object({ ok: count, failed: count }).openapi({ description: 'Calls in the window of the circuit.' }),
  })
  .openapi('Circuit')

export const circuitList = listSchema(circuitSchema, 'CircuitList')

export const closeRequest = z
  .strictObject({
    tenantId,
    hold: z
      .boolean()
      .optional()
      .openapi({ description: 'Keeps the circuit closed despite failures, until a close without `hold`.' }),
  })
  .openapi('CloseCircuit')
