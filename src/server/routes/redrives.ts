import { dryRunView, type RedriveView, redriveOptions, redriveView } from '../../core/redrive/redrive.js'
import { rate } from '../../core/values/rate.js'
import { named } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import { redriveQuery } from '../../engine/dead/redrives.js'
import type { Caller } from '../access/caller.js'
import type { Application } from '../application.js'
import { chosen } from '../audit-words.js'
import { type Answer, type Endpoint, endpoint, NOTHING, ok } from '../endpoint.js'
import { deadFilter } from './dead.js'
import { isOwn, noSuch, ownTenant } from './tenancy.js'
import { listSchema } from './words.js'

const newRedrive = named('NewRedrive', object({ filter: deadFilter }, redriveOptions.optional), {
  example: { filter: { queue: 'payments' }, rate: '20/s', canary: 10, stopWhenFailing: 0.2 },
})
const redriveEdit = named('RedriveEdit', object({ rate }))

const create = endpoint({
  method: 'post',
  path: '/redrives',
  tool: 'redrive_dead_letters',
  did: facts => `started a redrive of ${chosen(facts, 'dead letter')}`,
  call: ['dead.redrive(filter, ...)', 'redrives.start(filter, ...)'],
  summary: 'Redrive dead jobs at a limited rate',
  description:
    'A few jobs run first (`canary`); the redrive stops when too many fail again (`stopWhenFailing`). An empty filter means every dead ' +
    'letter. With `dryRun` nothing changes, and 200 returns the number of matching jobs.',
  role: 'operator',
  tenants: 'own',
  creates: true,
  takesLong: true,
  body: newRedrive,
  answers: {
    200: { description: 'The number of matching jobs (`dryRun`)', schema: dryRunView },
    201: { description: 'The redrive that was started', schema: redriveView },
  },
  async handle({ app, caller, body: { filter, ...given }, note }): Promise<Answer> {
    const { redrives } = app.chronos
    const query = ownTenant(caller, filter)
    const { dryRun = false, ...options } = given
    if (dryRun) return { status: 200, changed: false, body: await redrives.start(query, { ...options, dryRun }) }
    const redrive = await redrives.start(query, options)
    note({ filter: query, redriveId: redrive.id, count: redrive.total.value })
    tell(app, redrive)
    return { status: 201, body: redrive }
  },
})

const list = endpoint({
  method: 'get',
  path: '/redrives',
  tool: 'list_redrives',
  call: 'redrives.list(...)',
  summary: 'List redrives, newest first',
  role: 'viewer',
  tenants: 'own',
  query: redriveQuery,
  answers: ok(listSchema(redriveView, 'RedriveList'), 'A page of redrives'),
  handle: async ({ app, caller, query }) => ({ body: await app.chronos.redrives.list(ownTenant(caller, query)) }),
})

const get = endpoint({
  method: 'get',
  path: '/redrives/{id}',
  tool: 'get_redrive',
  call: 'redrives.get(id)',
  summary: 'Get a redrive and its progress',
  role: 'viewer',
  tenants: 'own',
  answers: ok(redriveView, 'The redrive'),
  handle: async ({ app, caller, params: { id } }) => ({ body: await ownRedrive(app, caller, id) }),
})

const setRate = endpoint({
  method: 'patch',
  path: '/redrives/{id}',
  did: ({ id, rate: given }) => `set the rate of redrive ${id} to ${given}`,
  call: 'redrives.setRate(id, rate)',
  summary: 'Change the rate of a redrive',
  role: 'operator',
  tenants: 'own',
  body: redriveEdit,
  answers: ok(redriveView, 'The changed redrive'),
  async handle({ app, caller, params: { id }, body, note }): Promise<Answer> {
    await ownRedrive(app, caller, id)
    note(body)
    return changed(app, await app.chronos.redrives.setRate(id, body.rate))
  },
})

type Verb = 'pause' | 'resume' | 'abort'

function action(verb: Verb, summary: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/redrives/{id}/${verb}`,
    tool: `${verb}_redrive`,
    did: ({ id }) => `${verb}${verb === 'abort' ? 'ed' : 'd'} redrive ${id}`,
    call: `redrives.${verb}(id)`,
    summary,
    role: 'operator',
    tenants: 'own',
    body: NOTHING,
    answers: ok(redriveView, 'The changed redrive'),
    async handle({ app, caller, params: { id } }): Promise<Answer> {
      await ownRedrive(app, caller, id)
      return changed(app, await app.chronos.redrives[verb](id))
    },
  })
}

/** The redrive, if this caller may see it. */
async function ownRedrive({ chronos }: Application, caller: Caller, id: string): Promise<RedriveView> {
  const redrive = await chronos.redrives.get(id)
  if (isOwn(caller, redrive)) return redrive
  throw noSuch('redrive', id)
}

function changed(app: Application, redrive: RedriveView): Answer {
  tell(app, redrive)
  return { body: redrive }
}

function tell({ feed }: Application, { tenantId }: RedriveView): void {
  feed.changed(['redrives', 'dead', 'jobs'], tenantId)
}

export const REDRIVES: readonly Endpoint[] = [
  create,
  list,
  get,
  setRate,
  action('pause', 'Pause a redrive; jobs that have started continue'),
  action('resume', 'Resume a redrive; one that stopped continues without a canary'),
  action('abort', 'Abort a redrive, also one that stopped'),
]
