import { count, listSchema, text, time } from './words.js'
import { z } from './zod.js'

export const byKey = z.object({ key: text })

export const circuitSchema = z
  .object({
    key: z.string(),
    state: z.enum(['closed', 'open', 'half-open', 'ramping']),
    forced: z.enum(['open', 'closed']).optional().openapi({ description: 'Held there by hand.' }),
    reason: z.string().optional(),
    since: time,
    openUntil: time.optional().openapi({ description: 'When the next probe may be sent.' }),
    notBefore: time.optional().openapi({ description: 'The other side asked to be left alone until then.' }),
    openings: count,
    probeJobId: z.string().optional(),
    calls: z.object({ ok: count, failed: count }).openapi({ description: 'In the window of the circuit.' }),
  })
  .openapi('Circuit')

export const circuitList = listSchema(circuitSchema, 'CircuitList')

export const closeRequest = z
  .strictObject({
    hold: z.boolean().optional().openapi({ description: 'It stays closed whatever fails, until closed without.' }),
  })
  .openapi('CloseCircuit')
