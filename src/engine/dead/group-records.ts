import { shown } from '../../core/values/error.js'
import { ERROR_GROUP, type ErrorGroup, groupId } from '../../store/fold.js'
import { Records, type RecordsEnvironment } from '../records/records.js'

export const GROUPS_MAX = 10_000

export function groupRecords(env: RecordsEnvironment): Records<ErrorGroup> {
  return new Records({ env, kind: ERROR_GROUP, name: id => `error group ${shown(id)}` })
}

/** The groups of a fingerprint: that of one tenant, or those of all. */
export async function groupsOf(
  records: Records<ErrorGroup>,
  fingerprint: string,
  tenantId: string | undefined,
): Promise<readonly ErrorGroup[]> {
  if (tenantId !== undefined) return (await records.these([groupId(fingerprint, tenantId)])).map(({ body }) => body)
  // Ids begin with the fingerprint; `A` follows the `@` before the tenant.
  const range = { from: fingerprint, to: `${fingerprint}A`, limit: GROUPS_MAX }
  return (await records.page(range, group => group.fingerprint === fingerprint)).map(({ body }) => body)
}
