import { SAVED_VIEWS_MAX, savedView, savedViewInput } from '../../core/saved-view/saved-view.js'
import { present } from '../../core/values/present.js'
import { about, anyText, boolean, type Infer, named, oneOf, text } from '../../core/values/schema.js'
import { object, view } from '../../core/values/shape.js'
import { SESSION_COOKIE, SESSION_MS } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import { AUTHENTICATED_BY, ROLES } from '../access/caller.js'
import type { Application } from '../application.js'
import { type Answer, created, type Endpoint, endpoint, gone, ok } from '../endpoint.js'
import { VERSION } from '../version.js'
import { listSchema } from './words.js'

export const envView = view({ name: anyText }, { color: anyText })

const sessionView = named(
  'Session',
  view(
    {
      name: anyText,
      role: oneOf(ROLES),
      by: oneOf(AUTHENTICATED_BY),
      authRequired: boolean,
      readOnly: boolean,
      version: anyText,
    },
    {
      tenantId: anyText,
      env: envView,
      traceUrl: about(anyText, 'The page of a trace, with `{traceId}`; not for the token of a tenant.'),
    },
  ),
)

async function sessionOf({ access, settings }: Application, caller: Caller): Promise<Infer<typeof sessionView>> {
  const { name, role, tenantId, by } = caller
  const { readOnly, env } = settings
  const authRequired = await access.isRequired()
  // The tracing backend belongs to the operators, as the fleet does.
  const traceUrl = tenantId === undefined ? settings.traceUrl : undefined
  return present({ name, role, tenantId, by, authRequired, readOnly, version: VERSION, env, traceUrl })
}

const whoAmI = endpoint({
  method: 'get',
  path: '/session',
  tag: 'access',
  summary: 'Get the caller and its permissions',
  role: 'viewer',
  tenants: 'own',
  answers: ok(sessionView, 'The caller'),
  handle: async ({ app, caller }) => ({ body: await sessionOf(app, caller) }),
})

const signIn = endpoint({
  method: 'post',
  path: '/session',
  did: () => 'signed in',
  tag: 'access',
  summary: 'Sign in with a token',
  description:
    'Sets an HttpOnly cookie. After ten invalid tokens from one address within a minute, further invalid ones are answered with 429.',
  role: 'viewer',
  tenants: 'own',
  isOpen: true,
  body: object({ token: text(512) }),
  answers: ok(sessionView, 'Signed in'),
  async handle({ app, body, credentials, isSecure, note }): Promise<Answer> {
    const { secret, caller } = await app.access.open(body.token, credentials.address)
    note({ name: caller.name })
    return { body: await sessionOf(app, caller), headers: { 'Set-Cookie': cookie(app, secret, SESSION_MS, isSecure) } }
  },
})

const signOut = endpoint({
  method: 'delete',
  path: '/session',
  did: () => 'signed out',
  tag: 'access',
  summary: 'Sign out',
  role: 'viewer',
  tenants: 'own',
  isOpen: true,
  answers: { 204: { description: 'Signed out' } },
  async handle({ app, credentials: { session }, isSecure, note }): Promise<Answer> {
    const caller = session === undefined ? undefined : await app.access.close(session)
    const headers = { 'Set-Cookie': cookie(app, '', 0, isSecure) }
    if (!caller) return { headers, changed: false }
    note({ name: caller.name })
    return { headers }
  },
})

export function cookie({ settings }: Application, secret: string, ms: number, isSecure: boolean): string {
  const path = `${settings.basePath}/`
  return `${SESSION_COOKIE}=${secret}; Path=${path}; Max-Age=${ms / 1000}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

// Saved views belong to the dashboard, as sessions do.

const views = endpoint({
  method: 'get',
  path: '/saved-views',
  tag: 'dashboard',
  summary: 'List saved views, by name',
  description: 'Filters of the dashboard’s lists. The token of a tenant sees those of its tenant.',
  role: 'viewer',
  tenants: 'own',
  answers: ok(listSchema(savedView, 'SavedViewList'), 'All saved views'),
  handle: async ({ app, caller }) => ({ body: { data: await app.savedViews.list(caller.tenantId), page: {} } }),
})

const saveView = endpoint({
  method: 'post',
  path: '/saved-views',
  tag: 'dashboard',
  did: ({ name }) => `saved view ${name}`,
  summary: 'Save the filter of a list under a name',
  description: `Everyone who may see the list sees it, with the name of its owner. At most ${SAVED_VIEWS_MAX}.`,
  role: 'operator',
  tenants: 'own',
  creates: true,
  body: savedViewInput,
  answers: created(savedView),
  async handle({ app, caller, body, note }): Promise<Answer> {
    const { tenantId } = caller
    note({ name: body.name, screen: body.screen })
    return { body: await app.savedViews.create(body, { owner: caller.name, ...present({ tenantId }) }) }
  },
})

const deleteView = endpoint({
  method: 'delete',
  path: '/saved-views/{id}',
  tag: 'dashboard',
  did: ({ name }) => `deleted saved view ${name}`,
  summary: 'Delete a saved view',
  role: 'operator',
  tenants: 'own',
  answers: gone,
  async handle({ app, caller, params: { id }, note }): Promise<Answer> {
    const { name } = await app.savedViews.delete(id, caller.tenantId)
    note({ name })
    return {}
  },
})

export const SESSION: readonly Endpoint[] = [whoAmI, signIn, signOut, views, saveView, deleteView]
