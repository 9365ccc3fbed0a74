import { z } from './zod.js'

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string().openapi({ description: 'Stable: programs may depend on it.' }),
    detail: z.string().openapi({ description: 'A sentence that names the field, the value and the fix.' }),
    requestId: z.string(),
    retryable: z.boolean(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .openapi('Problem')
