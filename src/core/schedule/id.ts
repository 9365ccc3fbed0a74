import { hash64 } from '../values/hash.js'
import { NAME_LENGTH_MAX, name } from '../values/limits.js'
import { pattern } from '../values/schema.js'

const TENANT = /^[A-Za-z0-9._-]{1,64}$/
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}(@[A-Za-z0-9._~-]{1,64})?$/

/** A name, or a name with the tenant to which it belongs: `digest@acme`. */
export const SCHEDULE_ID_MAX = NAME_LENGTH_MAX + 1 + 64
export const scheduleId = pattern(SCHEDULE_ID_MAX, ID, name.expects)

/**
 * The id of the schedule that a token of this tenant calls by this name. Each tenant has names of its own: a conflict
 * would tell one tenant which names another one uses.
 */
export function idOfTenant(id: string, tenantId: string): string {
  const own = `@${TENANT.test(tenantId) ? tenantId : `~${hash64(tenantId)}`}`
  return id.endsWith(own) ? id : `${id}${own}`
}

/** Whether a schedule of this tenant may have this id. */
export function isIdOf(id: string, tenantId: string | undefined): boolean {
  return !id.includes('@') || (tenantId !== undefined && id === idOfTenant(id, tenantId))
}
