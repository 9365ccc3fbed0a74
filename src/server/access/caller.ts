/** What somebody may do: look, act on jobs, or change how everything works. */
export const ROLES = ['viewer', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** Whoever makes a request. */
export interface Caller {
  /** The name in the audit log. */
  readonly name: string
  readonly role: Role
  /** Sees and touches only this tenant's. */
  readonly tenantId?: string
  /** How they are known; `open`: nobody has to say who they are. */
  readonly by: 'open' | 'token' | 'session'
}

export function mayAct(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed)
}
