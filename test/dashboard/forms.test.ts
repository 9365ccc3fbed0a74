import { signal } from '@preact/signals'
import { describe, expect, it } from 'vitest'
import { ruleForm } from '../../src/core/alert/form.js'
import { DEFAULT_RULES, viewRule } from '../../src/core/alert/settings.js'
import { silenceInput } from '../../src/core/alert/silence.js'
import { httpRequest } from '../../src/core/http/request.js'
import { enqueueOptions, jobEdit } from '../../src/core/job/options.js'
import { recoverOptions, redriveOptions } from '../../src/core/redrive/redrive.js'
import { scheduleOptions } from '../../src/core/schedule/options.js'
import { tokenInput } from '../../src/core/token/token.js'
import type { Fields } from '../../src/core/values/schema.js'
import { webhookInput } from '../../src/core/webhook/webhook.js'
import { type Draft, formOf, lookOf, wrongIn } from '../../src/dashboard/parts/form/typed.js'

const typed = <T extends object>(values: T): Draft<T> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, signal(value)])) as Draft<T>

describe('the fields of the forms', () => {
  const forms: readonly (readonly [string, Fields, readonly string[]])[] = [
    ['a call', httpRequest.fields, ['method', 'url', 'headers', 'body']],
    ['a job', enqueueOptions.fields, ['queue', 'delay', 'priority', 'retry', 'key', 'tags', 'tenantId']],
    ['a waiting job', jobEdit.fields, ['payload', 'priority', 'queue', 'tags', 'delay', 'runAt']],
    [
      'a schedule',
      scheduleOptions.fields,
      ['job', 'payload', 'cron', 'every', 'timeZone', 'startAt', 'endAt', 'splay'],
    ],
    ['a webhook', webhookInput.fields, ['url', 'queues', 'names', 'retry', 'tenantId']],
    ['a silence', silenceInput.fields, ['rule', 'labels', 'for', 'comment']],
    ['a redrive', redriveOptions.fields, ['canary', 'stopWhenFailing', 'force']],
    ['a recovery of deliveries', recoverOptions.fields, ['since']],
    ['a token', tokenInput.fields, ['name', 'role', 'tenantId', 'expiresIn']],
  ]

  it.each(forms)('of %s have the labels of their schemas', (_, fields, names) => {
    expect(names.filter(name => fields[name]?.about.label === undefined)).toEqual([])
  })

  it.each(DEFAULT_RULES.map(viewRule))(
    'of the alert rule $name have labels, and the settings that the rule has',
    rule => {
      const { enabled: _, repeat: _repeat, ...fields } = ruleForm(rule).fields as Fields
      expect(Object.keys(fields)).toEqual(expect.arrayContaining(['fire', 'clear', 'critical', 'for', 'keep']))
      expect(Object.values(fields).filter(field => field.about.label === undefined)).toEqual([])
    },
  )

  it('show the description of the schema, without its marks, unless it has a hint for forms', () => {
    expect(lookOf(enqueueOptions.fields.priority)).toMatchObject({
      label: 'Priority',
      hint: '0 to 9; jobs with 9 start first. Default 5',
      kind: 'number',
      min: 0,
      max: 9,
    })
    expect(lookOf(enqueueOptions.fields.queue)).toMatchObject({ hint: undefined, placeholder: 'default' })
  })

  it.each([
    ['a duration', enqueueOptions.fields.delay, { kind: 'duration' }],
    ['a URL', webhookInput.fields.url, { kind: 'url' }],
    ['a time', recoverOptions.fields.since, { kind: 'time' }],
    ['one of some words', tokenInput.fields.role, { options: ['viewer', 'operator', 'admin'] }],
    ['a text', enqueueOptions.fields.key, { kind: undefined, options: undefined }],
  ])('ask for %s with its control', (_, schema, look) => {
    expect(lookOf(schema)).toMatchObject(look)
  })
})

describe('a form', () => {
  it('has the body that its schema reads from the typed texts', () => {
    const draft = typed({ url: ' https://shop.example/hooks ', queues: 'mail, , reports', names: '', tenantId: '' })
    expect(formOf(webhookInput, draft, { events: ['job.dead'] })).toMatchObject({
      body: { url: 'https://shop.example/hooks', queues: ['mail', 'reports'], events: ['job.dead'] },
      wrong: {},
      isReady: true,
    })
  })

  it('shows the errors of its schema, and none for a required field that is still empty', () => {
    const draft = typed({ name: '', role: 'viewer', tenantId: '', expiresIn: '10' })
    expect(formOf(tokenInput, draft)).toMatchObject({
      wrong: { name: '', expiresIn: expect.stringMatching(/^Expected a duration such as "30s".*, got "10"/) },
      isReady: false,
    })
  })

  it('knows before it is sent that a GET has no body', () => {
    expect(wrongIn(httpRequest, { url: 'https://a.example', method: 'GET', body: 'x' })).toEqual({
      body: 'GET takes no body; leave it out, or use POST',
    })
  })

  it('names the part that is wrong', () => {
    expect(wrongIn(webhookInput, { url: 'x', events: [], queues: ['a b'] })).toEqual({
      url: expect.stringContaining('Expected an address such as'),
      events: 'Expected at least one event, got an empty list',
      queues: expect.stringContaining('letters, digits'),
    })
  })
})
