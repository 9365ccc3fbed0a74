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
    { name: about(text(100), 'The name that the audit log shows.'), role: oneOf(ROLES) },
    {
      tenantId: about(freeText, 'Limits the token to this tenant.'),
      expiresIn: duration({ min: 1_000, max: 10 * 365 * 86_400_000 }),
    },
  ),
  { example: { name: 'deploy', role: 'operator', expiresIn: '90d' } },
)

export type TokenInput = Infer<typeof tokenInput>
