import type { TokenInput } from '../access/tokens.js'
import { type Answer, created, type Endpoint, endpoint, gone, ok } from '../endpoint.js'
import { createdToken, newToken, tokenList } from '../schemas/token.js'
import { byId } from '../schemas/words.js'

const list = endpoint({
  method: 'get',
  path: '/tokens',
  tag: 'access',
  summary: 'Who may come in, newest first',
  role: 'admin',
  tenants: 'none',
  answers: ok(tokenList, 'All of them, without what they are'),
  async handle({ app }): Promise<Answer> {
    return { body: { data: await app.tokens.list(), page: {} } }
  },
})

const create = endpoint({
  method: 'post',
  path: '/tokens',
  tag: 'access',
  summary: 'Make a token',
  description: 'The `token` is told in this answer and never again; only its hash is kept.',
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
  summary: 'Let nobody in with it any more',
  description: 'Sessions that were opened with it end too. Other servers may believe it for another five seconds.',
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
