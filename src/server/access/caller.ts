import { ROLES, type Role } from '../../core/token/token.js'

export { ROLES, type Role } from '../../core/token/token.js'

/** The authenticated sender of a request. */
export interface Caller {
  /** The id of its token: names may be equal. */
  readonly id: string
  /** The name in the audit log. */
  readonly name: string
  readonly role: Role
  /** Limits the caller to one tenant. */
  readonly tenantId?: string
  /** How the caller was authenticated; `open`: authentication is not required. */
  readonly by: 'open' | 'token' | 'session'
}

export function mayAct(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
