import { describe, expect, it } from 'vitest'
import { eventsIn, type ServerEvent } from '../../src/client/events.js'
import { defineJob } from '../../src/index.js'
import { startServer, type TestServer } from './server.js'

let release: () => void = () => undefined
const gated = (): Promise<void> => new Promise(resolve => (release = resolve))

const importer = defineJob({
  name: 'import',
  retry: { maxRetries: 1, backoff: { type: 'fixed', delay: 1 } },
  async run({ waits = false }: { waits?: boolean }, job) {
    job.log('opened', { attempt: job.attempt })
    if (waits && job.attempt === 1) await gated()
    if (job.attempt === 1) throw new Error('locked')
    job.progress({ done: 1 })
    return { imported: 2 }
  },
})

async function open(t: TestServer, id: string, headers: Record<string, string> = {}, query = ''): Promise<Response> {
  return fetch(new URL(`api/v1/jobs/${id}/events${query}`, t.url), { headers })
}

async function read(response: Response, most = Number.POSITIVE_INFINITY): Promise<ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const event of eventsIn(response.body!, () => undefined)) {
    events.push(event)
    if (events.length >= most) break
  }
  return events
}

describe('the events of a job', () => {
  it('are its log lines, attempts and progress, and end with the job', async () => {
    await using t = await startServer()
    const { id } = await t.chronos.enqueue(importer, {})
    const response = await open(t, id)
    expect(response.headers.get('Content-Type')).toBe('text/event-stream')
    t.chronos.work([importer], { signals: false })
    const events = await read(response)
    expect(events.filter(({ name }) => name !== 'progress').map(({ name }) => name)).toEqual([
      'log',
      'attempt',
      'log',
      'attempt',
      'end',
    ])
    expect(events.find(({ name }) => name === 'attempt')!.data).toMatchObject({
      attempt: { label: 'Initial', status: 'failed', decision: { action: 'retry' } },
    })
    expect(events.at(-1)!.data).toMatchObject({ job: { id, state: 'succeeded', result: { imported: 2 } } })
  })

  it('continue after Last-Event-ID or the cursor of the query, and are over after the end', async () => {
    await using t = await startServer()
    t.chronos.work([importer], { signals: false })
    const { id } = await t.chronos.enqueue(importer, {})
    await t.chronos.jobs.ended(id)
    const all = await read(await open(t, id))
    for (const [index, { id: at }] of all.entries()) {
      if (index === all.length - 1) break
      expect(await read(await open(t, id, { 'Last-Event-ID': at! }))).toEqual(all.slice(index + 1))
    }
    const rest = await read(await open(t, id, {}, `?cursor=${all[0]!.id}`))
    expect(rest).toEqual(all.slice(1))
    expect((await open(t, id, { 'Last-Event-ID': all.at(-1)!.id! })).status).toBe(204)
  })

  it('are refused for a schedule, an unknown job and a wrong cursor', async () => {
    await using t = await startServer()
    await t.chronos.schedules.put('nightly', { every: '1h', job: 'mail' })
    const { id } = await t.chronos.enqueue(importer, {})
    expect(await (await open(t, 'nightly')).json()).toMatchObject({ code: 'NOT_ALLOWED' })
    expect((await open(t, '01890000-0000-7000-8000-000000000000')).status).toBe(404)
    const wrong = await open(t, id, { 'Last-Event-ID': 'x' })
    expect(await read(wrong)).toEqual([expect.objectContaining({ name: 'problem' })])
  })

  it('belong to one tenant, and viewers do not see the secrets of HTTP jobs', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    const request = { url: 'https://api.example/a?token=s3cret', headers: { Authorization: 'Bearer s3cret' } }
    const { id } = await t.chronos.http(request, { tenantId: 'acme', delay: '1h' })
    await t.chronos.jobs.cancel(id)
    const ask = async (tenantId: string): Promise<Response> => {
      const { token } = await t.server.tokens.create({ name: tenantId, role: 'viewer', tenantId })
      return open(t, id, { Authorization: `Bearer ${token}` })
    }
    expect((await ask('other')).status).toBe(404)
    const [end] = await read(await ask('acme'))
    expect(end).toMatchObject({ name: 'end', data: { job: { id, state: 'cancelled' } } })
    expect(JSON.stringify(end)).not.toContain('s3cret')
  })

  it('end when the token is revoked, when the job is deleted, and with the server', async () => {
    await using t = await startServer({ token: 'a-token-of-the-configuration' })
    const admin = { Authorization: 'Bearer a-token-of-the-configuration' }
    const { id } = await t.chronos.enqueue(importer, {}, { delay: '1h' })
    const { token, id: tokenId } = await t.server.tokens.create({ name: 'ci', role: 'viewer' })
    const revoked = read(await open(t, id, { Authorization: `Bearer ${token}` }))
    await t.server.tokens.revoke(tokenId)
    expect(await revoked).toEqual([])
    const deleted = read(await open(t, id, admin))
    await t.chronos.jobs.delete(id)
    expect(await deleted).toEqual([
      { name: 'problem', id: undefined, data: { code: 'NOT_FOUND', detail: expect.stringContaining(id) } },
    ])
    const { id: other } = await t.chronos.enqueue(importer, {}, { delay: '1h' })
    const ended = read(await open(t, other, admin))
    await t.server.close()
    expect(await ended).toEqual([])
  })

  it('are limited to maxListeners, and a client that leaves makes room', async () => {
    await using t = await startServer({ maxListeners: 1 })
    t.chronos.work([importer], { signals: false })
    const { id } = await t.chronos.enqueue(importer, { waits: true })
    const first = await open(t, id)
    expect(first.status).toBe(200)
    const second = await open(t, id)
    expect(second.status).toBe(503)
    expect(await second.json()).toMatchObject({ code: 'TOO_MANY_CLIENTS' })
    await first.body!.cancel()
    let third = await open(t, id)
    while (third.status === 503) third = await open(t, id)
    expect(await read(third, 1)).toMatchObject([{ name: 'log' }])
    release()
  })
})
