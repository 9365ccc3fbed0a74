import { tokenInput } from '../../core/token/token.js'
import { present } from '../../core/values/present.js'
import { about, anyText, named } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import { SESSION_MS } from '../access/access.js'
import { tokenView } from '../access/tokens.js'
import { type Answer, created, type Endpoint, endpoint, gone, ok } from '../endpoint.js'
import { Problem } from '../http/problem.js'
import { cookie } from './session.js'
import { listSchema } from './words.js'

const createdToken = named(
  'CreatedToken',
  view(tokenView.required, {
    ...tokenView.optional,
    token: about(anyText, '`chr_…`, shown only once: the response to a repeated request omits it.'),
  }),
)

const list = endpoint({
  method: 'get',
  path: '/tokens',
  call: 'tokens.list().data',
  tag: 'access',
  summary: 'List API tokens, newest first',
  role: 'admin',
  tenants: 'none',
  answers: ok(listSchema(tokenView, 'TokenList'), 'All tokens, without their secrets'),
  handle: async ({ app }) => ({ body: { data: await app.tokens.list(), page: {} } }),
})

const create = endpoint({
  method: 'post',
  path: '/tokens',
  did: ({ name, role }) => `created token ${name} (${role})`,
  call: 'tokens.create(...)',
  tag: 'access',
  summary: 'Create an API token',
  description:
    'The `token` is shown in this response only; the store keeps its hash. The first token must be of an admin, because it ' +
    'closes the server to callers without a token; a browser that creates it is signed in with it.',
  role: 'admin',
  tenants: 'none',
  creates: true,
  body: tokenInput,
  answers: created(createdToken),
  async handle({ app, caller, body, credentials, isSecure, note }): Promise<Answer> {
    const isFirst = caller.by === 'open' && !app.settings.open
    if (isFirst && (body.role !== 'admin' || body.tenantId !== undefined)) {
      const detail =
        'the first token must be of an admin of all tenants: it closes the server to callers without a token'
      throw new Problem(409, 'NOT_ALLOWED', detail)
    }
    const made = await app.tokens.create(body)
    const { id: tokenId, name, role, tenantId } = made
    note(present({ tokenId, name, role, tenantId }))
    if (!isFirst) return { body: made, once: ['token'] }
    const { secret } = await app.access.open(made.token, credentials.address)
    return { body: made, once: ['token'], headers: { 'Set-Cookie': cookie(app, secret, SESSION_MS, isSecure) } }
  },
})

const revoke = endpoint({
  method: 'delete',
  path: '/tokens/{id}',
  did: ({ id }) => `revoked token ${id}`,
  call: 'tokens.revoke(id)',
  tag: 'access',
  summary: 'Revoke an API token',
  description: 'Its sessions end too. Other servers may accept the token for up to five more seconds.',
  role: 'admin',
  tenants: 'none',
  answers: gone,
  async handle({ app, params: { id } }): Promise<Answer> {
    await app.tokens.revoke(id)
    return {}
  },
})

export const TOKENS: readonly Endpoint[] = [list, create, revoke]
