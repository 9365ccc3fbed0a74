import { describe, expect, it } from 'vitest'
import type { IncidentReport } from '../../../src/core/incident/report.js'
import { deadJobs, tokenOf } from '../deaths.js'
import { startServer } from '../server.js'

const reportOf = async (
  { api }: Awaited<ReturnType<typeof startServer>>,
  headers: Readonly<Record<string, string>>,
): Promise<IncidentReport> => (await api<IncidentReport>('GET', '/incident', undefined, headers)).body

describe('the incident report', () => {
  it('shows changes by operators to admins, and a tenant its own errors', async () => {
    await using t = await startServer({ asAdmin: true })
    await deadJobs(t, 2, { tenantId: 'acme' })
    await deadJobs(t, 3, { tenantId: 'globex' }, 'host not found')
    await t.api('POST', '/queues/default/pause')
    const [admin, viewer, tenant] = [
      await tokenOf(t, 'admin'),
      await tokenOf(t, 'viewer'),
      await tokenOf(t, 'admin', 'acme'),
    ]
    const whole = await reportOf(t, admin)
    expect(whole.outcomes).toMatchObject({ dead: { value: 5 }, failed: 5 })
    expect(whole.errors.map(({ deaths, tenants }) => [deaths, tenants])).toEqual([
      [3, ['globex']],
      [2, ['acme']],
    ])
    expect(whole.timeline.find(({ kind }) => kind === 'action')?.text).toContain('paused queue default')
    expect(await reportOf(t, viewer)).toMatchObject({ hasActions: false, errors: [{}, {}] })
    const own = await reportOf(t, tenant)
    expect(own).toMatchObject({
      tenantId: 'acme',
      outcomes: { dead: { value: 2 }, failed: 2 },
      errors: [{ deaths: 2 }],
    })
    expect(own.timeline.filter(({ kind }) => kind === 'action')).toEqual([])
    expect((await t.api('GET', '/incident?tenantId=globex', undefined, tenant)).status).toBe(403)
  })

  it('refuses a range without a length', async () => {
    await using t = await startServer()
    const at = '2026-11-18T02:00:00Z'
    expect((await t.api('GET', `/incident?from=${at}&to=${at}`)).status).toBe(422)
  })
})

describe('an error group', () => {
  it('has an assignee and notes, written by operators and in the audit log', async () => {
    await using t = await startServer({ asAdmin: true })
    await deadJobs(t, 1)
    const [viewer, operator] = [await tokenOf(t, 'viewer'), await tokenOf(t, 'operator')]
    const { body } = await t.api<{ data: { fingerprint: string }[] }>('GET', '/dead/groups')
    const path = `/dead/groups/${body.data[0]!.fingerprint}`
    expect((await t.api('PUT', `${path}/assignee`, { assignee: 'ann' }, viewer)).status).toBe(403)
    expect((await t.api('POST', `${path}/notes`, { text: 'x' }, viewer)).status).toBe(403)
    await t.api('PUT', `${path}/assignee`, { assignee: 'ann' }, operator)
    const noted = await t.api<{ notes: { id: string }[] }>('POST', `${path}/notes`, { text: 'known' }, operator)
    expect(noted.body).toMatchObject({ assignee: 'ann', notes: [{ text: 'known', by: 'operator of all' }] })
    expect((await t.api('POST', `${path}/notes`, { text: '' }, operator)).status).toBe(422)
    const { id } = noted.body.notes[0]!
    expect((await t.api('DELETE', `${path}/notes/${id}`, undefined, operator)).body).not.toHaveProperty('notes')
    const log = await t.api<{ data: { summary: string }[] }>('GET', '/audit')
    const said = log.body.data.map(({ summary }) => summary).filter(summary => summary.includes('error group'))
    expect(said).toEqual([
      expect.stringMatching(/^removed a note of error group/),
      expect.stringMatching(/^added a note to error group/),
      expect.stringMatching(/^assigned error group .* to ann$/),
    ])
  })

  it('has a breakdown, in which a tenant sees neither workers nor other tenants', async () => {
    await using t = await startServer({ asAdmin: true })
    await deadJobs(t, 2, { tenantId: 'acme', queue: 'mail' })
    await deadJobs(t, 1, { tenantId: 'globex' })
    const { body } = await t.api<{ data: { fingerprint: string }[] }>('GET', '/dead/groups')
    const path = `/dead/groups/${body.data[0]!.fingerprint}/breakdown`
    expect((await t.api('GET', path)).body).toMatchObject({
      failures: 3,
      tenants: [
        { value: 'acme', failures: 2 },
        { value: 'globex', failures: 1 },
      ],
      queues: [
        { value: 'mail', failures: 2 },
        { value: 'default', failures: 1 },
      ],
      workers: [{ value: 'w', failures: 3 }],
    })
    const own = (await t.api('GET', path, undefined, await tokenOf(t, 'viewer', 'acme'))).body
    expect(own).toMatchObject({ failures: 2, tenants: [{ value: 'acme', failures: 2 }], workers: [], builds: [] })
  })
})
