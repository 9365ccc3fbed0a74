import type { TokenInput } from '../access/tokens.js'
import { type Answer, created, type Endpoint, endpoint, gone, ok } from '../endpoint.js'
import { createdToken, newToken, tokenList } from '../schemas/token.js'
import { byId } from '../schemas/words.js'

const list = endpoint({
  method: 'get',
  path: '/tokens',
  tag: 'access',
  summary: 'List API tokens, newest first',
  role: 'admin',
  tenants: 'none',
  answers: ok(tokenList, 'All tokens, without their secrets'),
  async handle({ app }): Promise<Answer> {
    return { body: { data: await app.tokens.list(), page: {} } }
  },
})

const create = endpoint({
  method: 'post',
  path: '/tokens',
  tag: 'access',
  summary: 'Create an API token',
  description: 'The `token` is shown in this response only; the store keeps its hash.',
  role: 'admin',
  tenants: 'none',
  creates: true,
  body: newToken,
  answers: created(createdToken),
  async handle({ app, body, note }): Promise<Answer> {
    const made = await app.tokens.create(body as TokenInput)
    const { id: tokenId, name, role, tenantId } = made
    note({ tokenId, name, role, ...(tenantId !== undefined && { tenantId }) })
    return { body: made, once: ['token'] }
  },
})

const revoke = endpoint({
  method: 'delete',
  path: '/tokens/{id}',
  tag: 'access',
  summary: 'Revoke an API token',
  description: 'Its sessions end too. Other servers may accept the token for up to five more seconds.',
  role: 'admin',
  tenants: 'none',
  params: byId,
  answers: gone,
  async handle({ app, params: { id } }): Promise<Answer> {
    await app.tokens.revoke(id)
    return {}
  },
})

export const TOKENS: readonly Endpoint[] = [list, create, revoke]
