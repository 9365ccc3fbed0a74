import { freeText } from '../../core/values/limits.js'
import { about, boolean, named } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import { type CircuitView, circuitQuery, circuitView } from '../../engine/dependencies/circuits.js'
import type { Application } from '../application.js'
import { tenantWords } from '../audit-words.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'
import { listSchema } from './words.js'

const byKey = object({ key: freeText })
const ofTenant = object(
  {},
  { tenantId: about(freeText, 'The circuit of this tenant; without it, of jobs without a tenant.') },
)
const closeRequest = named(
  'CloseCircuit',
  object(
    {},
    {
      ...ofTenant.optional,
      hold: about(boolean, 'Keeps the circuit closed despite failures, until a close without `hold`.'),
    },
  ),
)

const list = endpoint({
  method: 'get',
  path: '/circuits',
  tool: 'list_circuits',
  call: 'circuits.list(...)',
  summary: 'List circuits',
  description: 'First those of jobs without a tenant, then by tenant; by dependency.',
  role: 'viewer',
  tenants: 'none',
  query: circuitQuery,
  answers: ok(listSchema(circuitView, 'CircuitList'), 'A page of circuits'),
  handle: async ({ app, query }) => ({ body: await app.chronos.circuits.list(query) }),
})

const get = endpoint({
  method: 'get',
  path: '/circuits/{key}',
  call: 'circuits.get(key, ...)',
  summary: 'Get a circuit',
  description: 'Percent-encode `/` and `:` in the key: `https%3A%2F%2Fapi.example`.',
  role: 'viewer',
  tenants: 'none',
  params: byKey,
  query: ofTenant,
  answers: ok(circuitView, 'The circuit'),
  handle: async ({ app, params: { key }, query }) => ({ body: await app.chronos.circuits.get(key, query) }),
})

const open = endpoint({
  method: 'post',
  path: '/circuits/{key}/open',
  did: facts => `opened circuit ${facts['key']}${tenantWords(facts)}`,
  call: 'circuits.open(key, ...)',
  summary: 'Force a circuit open: its jobs wait without using an attempt',
  role: 'operator',
  tenants: 'none',
  params: byKey,
  body: ofTenant,
  answers: ok(circuitView, 'The changed circuit'),
  async handle({ app, params: { key }, body, note }): Promise<Answer> {
    note(body)
    return changed(app, await app.chronos.circuits.open(key, body))
  },
})

const close = endpoint({
  method: 'post',
  path: '/circuits/{key}/close',
  did: facts => `closed circuit ${facts['key']}${tenantWords(facts)}`,
  call: 'circuits.close(key, ...)',
  summary: 'Close a circuit: waiting jobs resume gradually',
  role: 'operator',
  tenants: 'none',
  params: byKey,
  body: closeRequest,
  answers: ok(circuitView, 'The changed circuit'),
  async handle({ app, params: { key }, body, note }): Promise<Answer> {
    note(body)
    return changed(app, await app.chronos.circuits.close(key, body))
  },
})

function changed({ feed }: Application, circuit: CircuitView): Answer {
  feed.changed(['circuits', 'jobs'])
  return { body: circuit }
}

export const CIRCUITS: readonly Endpoint[] = [list, get, open, close]
