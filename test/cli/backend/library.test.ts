import { describe, expect, it } from 'vitest'
import { LOCAL_ONLY } from '../../../src/cli/backend/backend.js'
import { remoteBackend } from '../../../src/cli/backend/remote.js'
import { remoteMethods } from '../../../src/client/calls.js'
import { createChronos } from '../../../src/index.js'
import { Tokens } from '../../../src/server/access/tokens.js'
import { ENDPOINTS } from '../../../src/server/routes/all.js'

type Parts = Readonly<Record<string, unknown>>

const methodsOf = (prototype: object): readonly string[] =>
  Object.getOwnPropertyNames(prototype).filter(name => name !== 'constructor')

/** Methods that only compute, without a promise. */
const SYNC: readonly string[] = ['schedules.preview', 'alerts.announce']
const LOCAL: readonly string[] = [...LOCAL_ONLY, ...SYNC]
const PARTS = ['jobs', 'byId', 'queues', 'schedules', 'dead', 'redrives', 'circuits', 'webhooks', 'alerts'] as const

describe('a method of the library', () => {
  it('is declared by an endpoint, or listed as local', async () => {
    const chronos = createChronos({ store: 'memory:', log: false })
    const all = PARTS.flatMap(part => methodsOf(Object.getPrototypeOf(chronos[part])).map(name => `${part}.${name}`))
    const tokens = methodsOf(Tokens.prototype).map(name => `tokens.${name}`)
    await chronos.close()
    const backend = remoteBackend({ url: 'http://127.0.0.1:1' }) as unknown as Parts
    const missing = [
      ...all,
      ...tokens,
      'enqueue',
      'http',
      'stats',
      'series',
      'forecast',
      'incident',
      'workers',
      'verify',
      'info',
      'close',
    ]
      .filter(method => !LOCAL.includes(method))
      .filter(method => {
        const [part = '', name] = method.split('.')
        return typeof (name === undefined ? backend[part] : (backend[part] as Parts)[name]) !== 'function'
      })
    expect(missing, 'add `call` to the endpoint, or list the method in LOCAL_ONLY').toEqual([])
  })

  it('is declared by one endpoint, with every parameter of its path', () => {
    const calls = ENDPOINTS.flatMap(({ path, call = [] }) => [call].flat().map(one => ({ path, one })))
    const names = calls.map(({ one }) => one.replace(/\(.*/, ''))
    expect(new Set(names).size).toBe(names.length)
    for (const { path, one } of calls) {
      const given = /\((.*)\)/.exec(one)![1]!.split(', ')
      for (const [, parameter] of path.matchAll(/\{(\w+)\}/g)) expect(given, `${path}: ${one}`).toContain(parameter)
    }
  })

  it.each([
    ['schedules.pause', ['a/b'], ['post', '/schedules/a%2Fb/pause', { query: {}, body: {} }]],
    ['redrives.setRate', ['r', '5/s'], ['patch', '/redrives/r', { query: {}, body: { rate: '5/s' } }]],
    ['byId.list', [{ queue: 'mail' }, { limit: 3 }], ['get', '/jobs', { query: { queue: 'mail', limit: 3 } }]],
    ['jobs.list', [], ['get', '/jobs', { query: { kind: 'job' } }]],
    [
      'dead.setGroup',
      ['f', 'open', 't'],
      ['patch', '/dead/groups/f', { query: { tenantId: 't' }, body: { state: 'open' } }],
    ],
    [
      'jobs.edit',
      ['j', { priority: 1 }, { version: 'v' }],
      ['patch', '/jobs/j', { query: {}, body: { priority: 1 }, ifMatch: 'v' }],
    ],
    ['jobs.edit', ['j', { priority: 1 }], ['patch', '/jobs/j', { query: {}, body: { priority: 1 } }]],
    [
      'dead.discard',
      [{ queue: 'mail' }, { dryRun: true }],
      [
        'post',
        '/dead/discard',
        { query: {}, body: { filter: { queue: 'mail' }, dryRun: true, all: true }, takesLong: true },
      ],
    ],
    ['tokens.create', [{ name: 'ci' }], ['post', '/tokens', { query: {}, body: { name: 'ci' }, creates: true }]],
    ['tokens.revoke', ['t'], ['delete', '/tokens/t', { query: {} }]],
  ])('%s(%j) becomes a request', async (method, given, request) => {
    const sent: unknown[] = []
    const call = async (...asked: readonly unknown[]): Promise<unknown> => void sent.push(asked)
    await remoteMethods(ENDPOINTS, { call }).get(method)!(...given)
    expect(sent).toEqual([request])
  })

  it('returns the field of the response that the endpoint names', async () => {
    const methods = remoteMethods(ENDPOINTS, { call: async () => ({ data: [1], page: {} }) })
    expect(await methods.get('alerts.rules')!()).toEqual([1])
    expect(await methods.get('alerts.silences')!()).toEqual({ data: [1], page: {} })
  })
})
