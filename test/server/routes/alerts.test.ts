import { describe, expect, it } from 'vitest'
import { startServer } from '../server.js'

interface Rules {
  readonly data: readonly { readonly name: string; readonly fire: unknown; readonly enabled: boolean }[]
}

const ruleIn = ({ data }: Rules, wanted: string) => data.find(({ name }) => name === wanted)

describe('alerts', () => {
  it('have rules that can be changed and reset', async () => {
    await using t = await startServer()
    const before = await t.api<Rules>('GET', '/alerts/rules')
    expect(ruleIn(before.body, 'queue-latency')).toMatchObject({ fire: '5m', enabled: true })
    const changes = { 'queue-latency': { fire: '10m', for: '2m' }, 'no-workers': false }
    const set = await t.api<Rules>('PUT', '/alerts/rules', changes)
    expect(ruleIn(set.body, 'queue-latency')).toMatchObject({ fire: '10m', for: '2m' })
    expect(ruleIn(set.body, 'no-workers')).toMatchObject({ enabled: false })
    expect((await t.api('GET', '/alerts/rules')).body).toEqual(set.body)
    await t.api('PUT', '/alerts/rules', { 'queue-latency': null, 'no-workers': null })
    expect((await t.api('GET', '/alerts/rules')).body).toEqual(before.body)
  })

  it('are silenced for a while', async () => {
    await using t = await startServer()
    const asked = { rule: 'queue-latency', labels: { queue: 'reports' }, for: '2h', comment: 'migration' }
    const made = await t.api<{ id: string }>('POST', '/alerts/silences', asked)
    expect([made.status, made.body]).toMatchObject([201, { rule: 'queue-latency', labels: { queue: 'reports' } }])
    expect((await t.api('GET', '/alerts/silences')).body).toEqual({ data: [made.body], page: {} })
    expect((await t.api('DELETE', `/alerts/silences/${made.body.id}`)).status).toBe(204)
    expect((await t.api('DELETE', `/alerts/silences/${made.body.id}`)).status).toBe(404)
    expect((await t.api('GET', '/alerts/silences')).body).toEqual({ data: [], page: {} })
  })

  it('are listed by state', async () => {
    await using t = await startServer()
    expect((await t.api('GET', '/alerts?state=firing')).body).toEqual({ data: [], page: {} })
    expect((await t.api('GET', '/alerts?state=quiet')).status).toBe(422)
  })

  it('are tested with every channel, and refuse an unknown channel', async () => {
    await using t = await startServer({
      chronos: {
        egress: { allow: ['loopback'] },
        alerts: { channels: { chat: { type: 'slack', url: 'http://127.0.0.1:9/chat' } } },
      },
    })
    expect((await t.api('POST', '/alerts:test')).body).toEqual({ channels: ['chat'] })
    expect((await t.api('POST', '/alerts:test', { channel: 'pager' })).status).toBe(422)
  })

  it.each([
    ['PUT', '/alerts/rules', { 'dead-letter': { fire: 1 } }, '/dead-letter'],
    ['PUT', '/alerts/rules', { 'dead-letters': { fire: -1 } }, '/dead-letters'],
    ['POST', '/alerts/silences', { rule: 'none', for: '1h' }, '/rule'],
    ['POST', '/alerts/silences', { for: '1h', forever: true }, '/forever'],
  ])('refuse %s %s %j', async (method, path, body, pointer) => {
    await using t = await startServer()
    const reply = await t.api<{ errors: { pointer: string }[] }>(method, path, body)
    expect([reply.status, reply.body.errors[0]!.pointer.startsWith(pointer)]).toEqual([422, true])
  })

  it('require the duration of a silence', async () => {
    await using t = await startServer()
    const reply = await t.api('POST', '/alerts/silences', {})
    expect([reply.status, reply.body]).toMatchObject([
      422,
      { code: 'INVALID_REQUEST', detail: '/: give for ("2h") or until (a time), got neither' },
    ])
  })
})
