import { ROLES, type Role } from '../../core/token/token.js'
import { ChronosError } from '../../core/values/error.js'
import { freeText } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import { oneOf, read, text } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import type { Caller } from './caller.js'

/** A caller as the application around the server knows it. */
export interface Authorized {
  /** The name in the audit log. */
  readonly name: string
  readonly role: Role
  /** Limits the caller to one tenant. */
  readonly tenantId?: string
}

/** Authenticates a request by the rules of the application; null refuses it. */
export type Authorize = (request: Request) => Authorized | null | Promise<Authorized | null>

/** How a server that is mounted in an application authenticates. */
export type Authentication =
  | { readonly authorize: Authorize }
  | { readonly token: string }
  | { readonly tokens: true }
  | { readonly open: true }

/** Unknown fields are refused: a misspelt `tenantId` would open all tenants. */
const authorized = object({ name: text(100), role: oneOf(ROLES) }, { tenantId: freeText })

/** The caller that the application names; undefined if it refuses the request. */
export async function authorizedCaller(authorize: Authorize, request: Request): Promise<Caller | undefined> {
  const given: unknown = await authorize(request)
  if (given === null || given === undefined) return undefined
  const { name, role, tenantId } = checked(given)
  return present({
    id: `authorize:${JSON.stringify([tenantId, name])}`,
    name,
    role,
    tenantId,
    by: 'authorize' as const,
  })
}

/** A mistake of the application, not of the client: the response is 500, and the log has the sentence. */
function checked(given: unknown): Authorized {
  try {
    return read(authorized, given, 'createServer: authorize returned an invalid caller:')
  } catch (error) {
    throw error instanceof ChronosError ? new TypeError(error.message) : error
  }
}
