import { ROLES, type Role } from '../../core/token/token.js'

export { ROLES, type Role } from '../../core/token/token.js'

export const AUTHENTICATED_BY = ['open', 'token', 'session', 'authorize'] as const

/** The authenticated sender of a request. */
export interface Caller {
  /** The id of its token, because names may be equal; or one made of its name. */
  readonly id: string
  /** The name in the audit log. */
  readonly name: string
  readonly role: Role
  /** Limits the caller to one tenant. */
  readonly tenantId?: string
  /** How the caller was authenticated; `open`: authentication is not required. */
  readonly by: (typeof AUTHENTICATED_BY)[number]
}

export function mayAct(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
