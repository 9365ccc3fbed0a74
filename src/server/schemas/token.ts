import { ROLES } from '../access/caller.js'
import { duration, listSchema, text, time } from './words.js'
import { z } from './zod.js'

export const newToken = z
  .strictObject({
    name: z.string().min(1).max(100).openapi({ description: 'The name that the audit log shows.' }),
    role: z.enum(ROLES),
    tenantId: text.optional().openapi({ description: 'Limits the token to this tenant.' }),
    expiresIn: duration.optional(),
  })
  .openapi('NewToken', { example: { name: 'deploy', role: 'operator', expiresIn: '90d' } })

export const tokenSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    role: z.enum(ROLES),
    tenantId: z.string().optional(),
    createdAt: time,
    expiresAt: time.optional(),
    usedAt: time.optional().openapi({ description: 'Precise to the minute.' }),
  })
  .openapi('Token')

export const createdToken = tokenSchema
  .extend({
    token: z
      .string()
      .optional()
      .openapi({ description: '`chr_…`, shown only once: the response to a repeated request omits it.' }),
  })
  .openapi('CreatedToken')

export const tokenList = listSchema(tokenSchema, 'TokenList')
