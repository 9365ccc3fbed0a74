import type { SilenceInput } from '../../core/alert/silence.js'
import type { RuleChanges } from '../../engine/alerts/alerts.js'
import { type Answer, created, type Endpoint, endpoint, gone, ok } from '../endpoint.js'
import {
  alertQuery,
  alertSchema,
  newSilence,
  ruleChanges,
  ruleSchema,
  silenceSchema,
  testRequest,
} from '../schemas/alert.js'
import { byId, listSchema } from '../schemas/words.js'
import { z } from '../schemas/zod.js'

const ruleList = listSchema(ruleSchema, 'AlertRuleList')

const list = endpoint({
  method: 'get',
  path: '/alerts',
  tag: 'alerts',
  summary: 'What needs a person',
  description: 'Firing ones first, then critical ones, then the newest.',
  role: 'viewer',
  tenants: 'none',
  query: alertQuery,
  answers: ok(listSchema(alertSchema, 'AlertList'), 'All of them'),
  async handle({ app, query }): Promise<Answer> {
    return { body: await app.chronos.alerts.list(query) }
  },
})

const rules = endpoint({
  method: 'get',
  path: '/alerts/rules',
  tag: 'alerts',
  summary: 'When an alert begins and ends',
  description: 'As they are in force: what was set, over what the code of this server says, over the defaults.',
  role: 'viewer',
  tenants: 'none',
  answers: ok(ruleList, 'All of them'),
  async handle({ app }): Promise<Answer> {
    return { body: { data: await app.chronos.alerts.rules(), page: {} } }
  },
})

const setRules = endpoint({
  method: 'put',
  path: '/alerts/rules',
  tag: 'alerts',
  summary: 'Change rules, for every process',
  description: 'By name; what is left out stays as it is.',
  role: 'admin',
  tenants: 'none',
  body: ruleChanges,
  answers: ok(ruleList, 'As they are now'),
  async handle({ app, body, note }): Promise<Answer> {
    const data = await app.chronos.alerts.setRules(body as RuleChanges)
    note(body)
    app.feed.changed(['alerts'])
    return { body: { data, page: {} } }
  },
})

const silences = endpoint({
  method: 'get',
  path: '/alerts/silences',
  tag: 'alerts',
  summary: 'What nobody is told of, and until when',
  description: 'Those in force, and those that are over for less than a day; the one that ends last first.',
  role: 'viewer',
  tenants: 'none',
  answers: ok(listSchema(silenceSchema, 'SilenceList'), 'All of them'),
  async handle({ app }): Promise<Answer> {
    return { body: await app.chronos.alerts.silences() }
  },
})

const silence = endpoint({
  method: 'post',
  path: '/alerts/silences',
  tag: 'alerts',
  summary: 'Have nobody told of some alerts for a while',
  description: 'For so long (`for`) or until a time (`until`). The alerts go on as they would.',
  role: 'operator',
  tenants: 'none',
  creates: true,
  body: newSilence,
  answers: created(silenceSchema),
  async handle({ app, body, note }): Promise<Answer> {
    const made = await app.chronos.alerts.silence(body as SilenceInput)
    note({ silenceId: made.id, ...body })
    app.feed.changed(['alerts'])
    return { body: made }
  },
})

const unsilence = endpoint({
  method: 'delete',
  path: '/alerts/silences/{id}',
  tag: 'alerts',
  summary: 'End a silence',
  role: 'operator',
  tenants: 'none',
  params: byId,
  answers: gone,
  async handle({ app, params: { id } }): Promise<Answer> {
    await app.chronos.alerts.unsilence(id)
    app.feed.changed(['alerts'])
    return {}
  },
})

const test = endpoint({
  method: 'post',
  path: '/alerts:test',
  tag: 'alerts',
  summary: 'Send a test by the channels of this server',
  role: 'operator',
  tenants: 'none',
  body: testRequest,
  answers: ok(z.object({ channels: z.array(z.string()) }).openapi('AlertTestResult'), 'By which it goes out'),
  async handle({ app, body: { channel }, note }): Promise<Answer> {
    const channels = await app.chronos.alerts.test(channel)
    note({ channels })
    return { body: { channels } }
  },
})

export const ALERTS: readonly Endpoint[] = [list, rules, setRules, silences, silence, unsilence, test]
