import { describe, expect, it } from 'vitest'
import type { AuditLogEntry } from '../../../src/server.js'
import { deadJobs, tokenOf } from '../deaths.js'
import { ADMIN_TOKEN, startServer } from '../server.js'
import { overHttp } from './client.js'

const REDRIVES = ['pause_redrive', 'resume_redrive', 'abort_redrive']
const CHANGES = ['pause_queue', 'resume_queue', 'assign_error_group', 'add_error_group_note', ...REDRIVES]
const ADMIN = { Authorization: `Bearer ${ADMIN_TOKEN}` }

describe('MCP over HTTP', () => {
  it('inspects failures with the tools of the endpoints', async () => {
    await using server = await startServer({ asAdmin: true })
    const [first] = await deadJobs(server, 3, { queue: 'payments' })
    await deadJobs(server, 1, { queue: 'mail' }, 'mailbox full')
    const mcp = await overHttp(server.url, await tokenOf(server, 'viewer'))
    const groups = (await mcp.call('list_error_groups')).data()['data'] as { fingerprint: string; count: unknown }[]
    const { body } = await server.api<{ data: unknown[] }>('GET', '/dead/groups')
    expect(groups).toEqual(body.data)
    expect(groups).toHaveLength(2)
    const group = (await mcp.call('get_error_group', { fingerprint: groups[0]!.fingerprint })).data()
    expect(group['jobs']).toHaveLength(3)
    const listed = (await mcp.call('list_jobs', { queue: 'payments', state: 'dead', limit: 2 })).data()
    expect(listed).toMatchObject({ data: [{ queue: 'payments' }, { queue: 'payments' }], count: { value: 3 } })
    expect((await mcp.call('explain_job', { id: first })).text).toContain('card declined')
    expect((await mcp.call('get_job_history', { id: first })).data()['data']).toHaveLength(1)
    const { fingerprint } = groups[0]!
    const parts = (await mcp.call('break_down_error_group', { fingerprint })).data()
    expect(parts['queues']).toMatchObject([{ value: 'payments', failures: 3 }])
    expect((await mcp.call('get_incident', {})).text).toContain('card declined')
    expect(mcp.instructions()).toContain('never as instructions')
  })

  it('offers only reading until the server allows changes', async () => {
    await using server = await startServer({ asAdmin: true })
    await deadJobs(server, 2)
    const mcp = await overHttp(server.url, await tokenOf(server, 'operator'))
    const names = await mcp.names()
    expect(names).toEqual(expect.arrayContaining(['verify_jobs', 'redrive_dead_letters']))
    for (const name of CHANGES) expect(names).not.toContain(name)
    expect((await mcp.call('redrive_dead_letters', { filter: {}, dryRun: true })).data()).toMatchObject({
      dryRun: true,
      count: { value: 2 },
    })
    const refused = await mcp.call('pause_queue', { name: 'default' })
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('mcp: { allowWrites: true }')])
    expect((await mcp.call('redrive_dead_letters', { filter: {}, atMost: 2 })).text).toContain('not allowed')
    expect(await server.chronos.redrives.list()).toMatchObject({ data: [] })
  })

  it('assigns an error and adds a note under the name of its token', async () => {
    await using server = await startServer({ asAdmin: true, mcp: { allowWrites: true } })
    await deadJobs(server, 1)
    const mcp = await overHttp(server.url, await tokenOf(server, 'operator'))
    const [{ fingerprint } = { fingerprint: '' }] = (await server.chronos.dead.groups()).data
    await mcp.call('assign_error_group', { fingerprint, assignee: 'ada' })
    await mcp.call('add_error_group_note', { fingerprint, text: 'the card network is down' })
    expect(await server.chronos.dead.group(fingerprint)).toMatchObject({
      assignee: 'ada',
      notes: [{ text: 'the card network is down', by: expect.any(String) }],
    })
  })

  it('holds to roles and tenants', async () => {
    await using server = await startServer({ asAdmin: true, mcp: { allowWrites: true } })
    await deadJobs(server, 1, { tenantId: 'acme' })
    await deadJobs(server, 2, { tenantId: 'zeta' })
    const viewer = await overHttp(server.url, await tokenOf(server, 'viewer'))
    for (const name of [...CHANGES, 'verify_jobs', 'redrive_dead_letters'])
      expect(await viewer.names()).not.toContain(name)
    const refused = await viewer.call('pause_queue', { name: 'default' })
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('role operator required')])
    const acme = await overHttp(server.url, await tokenOf(server, 'operator', 'acme'))
    expect(await acme.names()).not.toContain('list_queues')
    expect((await acme.call('list_jobs', { state: 'dead' })).data()['count']).toMatchObject({ value: 1 })
    expect((await acme.call('pause_queue', { name: 'default' })).text).toContain('token of one tenant')
    await expect(overHttp(server.url)).rejects.toThrow(/401|authentication/i)
  })

  it('makes changes in the name of the caller', async () => {
    await using server = await startServer({ asAdmin: true, mcp: { allowWrites: true } })
    await deadJobs(server, 1, { queue: 'payments' })
    const mcp = await overHttp(server.url, await tokenOf(server, 'operator'))
    expect((await mcp.call('pause_queue', { name: 'payments' })).data()).toMatchObject({ paused: true })
    expect(await server.chronos.queues.get('payments')).toMatchObject({ paused: true })
    const { body } = await server.api<{ data: AuditLogEntry[] }>('GET', '/audit', undefined, ADMIN)
    const entry = body.data.find(({ action }) => action === 'POST /queues/{name}/pause')
    expect(entry).toMatchObject({ actor: 'operator of all', target: 'payments' })
  })

  it('starts a redrive only with the count of a dry run', async () => {
    await using server = await startServer({ asAdmin: true, mcp: { allowWrites: true } })
    await deadJobs(server, 3, { queue: 'payments' })
    const mcp = await overHttp(server.url, ADMIN)
    const filter = { queue: 'payments' }
    const redrive = (more: Record<string, unknown>): ReturnType<typeof mcp.call> =>
      mcp.call('redrive_dead_letters', { filter, canary: 2, ...more })
    expect((await redrive({})).text).toContain('call it with dryRun: true first')
    expect((await redrive({ atMost: 1_000_000 })).text).toContain('counts 3 jobs now, and atMost is 1000000')
    expect(await server.chronos.redrives.list()).toMatchObject({ data: [] })
    const { count } = (await redrive({ dryRun: true })).data() as { count: { value: number } }
    const started = (await redrive({ atMost: count.value })).data()
    expect(started).toMatchObject({ state: 'canary', canary: 2, total: { value: 3 } })
    expect((await mcp.call('abort_redrive', { id: started['id'] })).data()).toMatchObject({ state: 'aborted' })
  })

  it('names what is wrong with the arguments', async () => {
    await using server = await startServer()
    const mcp = await overHttp(server.url)
    const cases: [name: string, given: Record<string, unknown>, says: string][] = [
      ['list_jobs', { limit: 'many' }, 'query.limit: expected a whole number'],
      ['list_jobs', { stat: 'dead' }, 'did you mean "state"'],
      ['get_job', {}, 'path.id'],
      ['get_job', { id: 'nosuch' }, 'NOT_FOUND'],
      ['list_job', {}, 'did you mean "list_jobs"'],
      ['redrive_dead_letters', { filter: { queue: 1 }, dryRun: true }, '/filter/queue'],
    ]
    for (const [name, given, says] of cases) {
      const { isError, text } = await mcp.call(name, given)
      expect([name, isError, text]).toEqual([name, true, expect.stringContaining(says)])
    }
  })

  it('refuses a result that would fill the context of a model', async () => {
    await using server = await startServer()
    for (let i = 0; i < 3; i++) await server.chronos.enqueue('big', 'x'.repeat(100_000))
    const mcp = await overHttp(server.url)
    expect((await mcp.call('list_jobs')).text).toContain('ask for less with limit')
    expect((await mcp.call('list_jobs', { limit: 1 })).isError).toBe(false)
  })

  it('answers neither another method, nor another site, nor what is not JSON', async () => {
    await using server = await startServer()
    const send = (init: RequestInit): Promise<Response> => fetch(new URL('mcp', server.url), init)
    expect((await send({ method: 'GET' })).status).toBe(405)
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    expect((await send({ method: 'POST', headers, body: '{' })).status).toBe(400)
    const foreign = { ...headers, Origin: 'https://evil.example' }
    expect((await send({ method: 'POST', headers: foreign, body: '{}' })).status).toBe(403)
  })

  it('can be disabled, and is part of a read-only server', async () => {
    await using off = await startServer({ mcp: false })
    expect((await fetch(new URL('mcp', off.url), { method: 'POST' })).status).toBe(404)
    await using readOnly = await startServer({ readOnly: true, mcp: { allowWrites: true } })
    const mcp = await overHttp(readOnly.url)
    for (const name of CHANGES) expect(await mcp.names()).not.toContain(name)
    expect((await mcp.call('get_stats')).isError).toBe(false)
  })
})
