import { alertView } from '../../core/alert/alert.js'
import { alertRuleChanges, ruleView } from '../../core/alert/settings.js'
import { silenceInput, silenceView } from '../../core/alert/silence.js'
import { freeText } from '../../core/values/limits.js'
import { about, anyText, named } from '../../core/values/schema.js'
import { listOf, object, view } from '../../core/values/shape.js'
import { alertQuery } from '../../engine/alerts/alerts.js'
import { silenced } from '../audit-words.js'
import { type Answer, created, type Endpoint, endpoint, gone, ok } from '../endpoint.js'
import { listSchema } from './words.js'

const ruleList = listSchema(ruleView, 'AlertRuleList')
const testRequest = named('AlertTest', object({}, { channel: about(freeText, 'Default: every channel.') }))

const list = endpoint({
  method: 'get',
  path: '/alerts',
  tool: 'list_alerts',
  call: 'alerts.list(...)',
  summary: 'List alerts',
  description: 'Sorted: firing before resolved, then critical first, then newest first.',
  role: 'viewer',
  tenants: 'none',
  query: alertQuery,
  answers: ok(listSchema(alertView, 'AlertList'), 'All alerts'),
  handle: async ({ app, query }) => ({ body: await app.chronos.alerts.list(query) }),
})

const rules = endpoint({
  method: 'get',
  path: '/alerts/rules',
  call: 'alerts.rules().data',
  summary: 'List alert rules',
  description:
    'The rules in force. A rule that was set here overrides the code of this server, which overrides the defaults.',
  role: 'viewer',
  tenants: 'none',
  answers: ok(ruleList, 'All rules'),
  handle: async ({ app }) => ({ body: { data: await app.chronos.alerts.rules(), page: {} } }),
})

const setRules = endpoint({
  method: 'put',
  path: '/alerts/rules',
  did: facts => `changed alert rule ${Object.keys(facts).join(', ')}`,
  call: 'alerts.setRules(...).data',
  summary: 'Change alert rules for every process',
  description: 'The fields are names of rules. Rules and fields that are left out stay unchanged.',
  role: 'admin',
  tenants: 'none',
  body: alertRuleChanges,
  answers: ok(ruleList, 'The changed rules'),
  async handle({ app, body, note }): Promise<Answer> {
    const data = await app.chronos.alerts.setRules(body)
    note(body)
    app.feed.changed(['alerts'])
    return { body: { data, page: {} } }
  },
})

const silences = endpoint({
  method: 'get',
  path: '/alerts/silences',
  call: 'alerts.silences()',
  summary: 'List silences',
  description: 'Silences in force, and those that ended less than a day ago; the one that ends last comes first.',
  role: 'viewer',
  tenants: 'none',
  answers: ok(listSchema(silenceView, 'SilenceList'), 'All silences'),
  handle: async ({ app }) => ({ body: await app.chronos.alerts.silences() }),
})

const silence = endpoint({
  method: 'post',
  path: '/alerts/silences',
  did: silenced,
  call: 'alerts.silence(...)',
  summary: 'Silence alerts',
  description:
    'For a duration (`for`) or until a time (`until`). Silenced alerts still fire and resolve, without notifications.',
  role: 'operator',
  tenants: 'none',
  creates: true,
  body: silenceInput,
  answers: created(silenceView),
  async handle({ app, body, note }): Promise<Answer> {
    const made = await app.chronos.alerts.silence(body)
    note({ silenceId: made.id, ...body })
    app.feed.changed(['alerts'])
    return { body: made }
  },
})

const unsilence = endpoint({
  method: 'delete',
  path: '/alerts/silences/{id}',
  did: ({ id }) => `ended silence ${id}`,
  call: 'alerts.unsilence(id)',
  summary: 'End a silence',
  role: 'operator',
  tenants: 'none',
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
  did: () => 'sent a test alert',
  call: 'alerts.test(channel).channels',
  summary: 'Send a test alert through the channels of this server',
  role: 'operator',
  tenants: 'none',
  body: testRequest,
  answers: ok(
    named('AlertTestResult', view({ channels: listOf(anyText) })),
    'The channels that the test is sent through',
  ),
  async handle({ app, body: { channel }, note }): Promise<Answer> {
    const channels = await app.chronos.alerts.test(channel)
    note({ channels })
    return { body: { channels } }
  },
})

export const ALERTS: readonly Endpoint[] = [list, rules, setRules, silences, silence, unsilence, test]
