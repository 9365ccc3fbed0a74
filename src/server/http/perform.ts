import { type Schema, tryRead } from '../../core/values/schema.js'
import { type Caller, mayAct } from '../access/caller.js'
import type { Application } from '../application.js'
import type { Facts } from '../audit-words.js'
import type { Answer, Call, Endpoint } from '../endpoint.js'
import { invalidRequest, Problem } from './problem.js'

/** A validated request, and the text that its idempotency key stands for. */
type Performed = Omit<Call<unknown, unknown, unknown>, 'note'> & { readonly text: string }

/** Calls the handler of a validated request whose caller has the right to it, and records the change. */
export async function perform(
  app: Application,
  endpoint: Endpoint,
  { text, ...given }: Performed,
): Promise<{ readonly call: Call<unknown, unknown, unknown>; readonly answer: Answer }> {
  const facts: Record<string, unknown> = {}
  const call: Call<unknown, unknown, unknown> = { ...given, note: more => void Object.assign(facts, more) }
  const act = (): Promise<Answer> => endpoint.handle(call as Call<never, never, never>)
  const { repeatId: id } = call
  const answer =
    id === undefined
      ? await act()
      : await app.idempotency.once({ id, body: text, isKeyed: endpoint.creates === 'keyed' }, act)
  await audit(app, endpoint, call, facts, answer)
  return { call, answer }
}

export function checkRights(app: Application, endpoint: Endpoint, caller: Caller): void {
  if (!mayAct(caller.role, endpoint.role)) {
    throw new Problem(403, 'FORBIDDEN', `role ${endpoint.role} required; ${caller.name} has the role ${caller.role}`)
  }
  if (caller.tenantId !== undefined && endpoint.tenants === 'none') {
    throw new Problem(403, 'FORBIDDEN', 'not available to the token of one tenant')
  }
  // Signing in and out is possible on a read-only server.
  if (app.settings.readOnly && !endpoint.isOpen && auditOf(endpoint) !== 'none') {
    throw new Problem(403, 'FORBIDDEN', 'the server is read-only: it was started with readOnly')
  }
}

export function checked<T>(schema: Schema<T>, value: unknown, part: 'path' | 'query' | 'body'): T {
  const result = tryRead(schema, value)
  if ('value' in result) return result.value
  throw invalidRequest(result.flaws, part)
}

export function auditOf({ method, audit }: Endpoint): 'entry' | 'sum' | 'none' {
  return audit ?? (method === 'get' ? 'none' : 'entry')
}

async function audit(
  app: Application,
  endpoint: Endpoint,
  { caller, params, requestId }: Call<unknown, unknown, unknown>,
  facts: Readonly<Record<string, unknown>>,
  { headers, changed, audit: own }: Answer,
): Promise<void> {
  const how = own ?? auditOf(endpoint)
  const { did } = endpoint
  if (how === 'none' || changed === false || headers?.['Idempotency-Replayed'] !== undefined) return
  const target = Object.values(params as Record<string, string>).join(' ')
  const change = {
    caller,
    action: `${endpoint.method.toUpperCase()} ${endpoint.path}`,
    ...(target !== '' && { target }),
    requestId,
    facts,
    ...(did && { did: (given: Facts) => did({ ...(params as Facts), ...given }) }),
  }
  if (how === 'sum') app.auditLog.sum(change)
  else await app.auditLog.add(change)
}
