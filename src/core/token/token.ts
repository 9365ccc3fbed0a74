import { freeText } from '../values/limits.js'
import { about, duration, type Infer, named, oneOf, text } from '../values/schema.js'
import { object } from '../values/shape.js'

/** A viewer reads, an operator acts on jobs, an admin changes settings. */
export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** An API token as users ask for it. */
export const tokenInput = named(
  'NewToken',
  object(
    {
      name: about(text(100), 'The owner or purpose, shown in the audit log.', {
        label: 'Name',
        placeholder: 'deploy-bot',
      }),
      role: about(oneOf(ROLES), { label: 'Role' }),
    },
    {
      tenantId: about(freeText, 'Limits the token to this tenant; if absent, all tenants.', { label: 'Tenant' }),
      expiresIn: about(duration({ min: 1_000, max: 10 * 365 * 86_400_000 }), { label: 'Valid for' }),
    },
  ),
  { example: { name: 'deploy', role: 'operator', expiresIn: '90d' } },
)

export type TokenInput = Infer<typeof tokenInput>
