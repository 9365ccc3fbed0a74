import { describe, expect, it } from 'vitest'
import { AUDIT_LOG, auditIdPrefix } from '../../../src/core/audit/entry.js'
import { fixed } from '../../../src/core/policy/builders.js'
import type { Clock } from '../../../src/core/values/clock.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { eventWrites, FLEET_EVENT } from '../../../src/engine/incident/events.js'
import { ERRORS_MAX } from '../../../src/engine/incident/incident.js'
import type { Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const state = { isUp: true }

const pay = defineJob({
  name: 'pay',
  queue: 'payments',
  dependsOn: 'stripe',
  retry: { maxRetries: 2, backoff: { type: 'exponential', base: '1s' }, jitter: 'none', circuit: true },
  async run(_payload: unknown) {
    if (!state.isUp) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  },
})
const mail = defineJob({
  name: 'mail',
  retry: fixed({ delay: '1s', maxRetries: 1, jitter: 'none' }),
  async run(payload: { readonly isBad: boolean }) {
    if (payload.isBad) throw new TypeError('no such mailbox')
  },
})

describe.each(STORES)('the incident report on %s', (_, store) => {
  const work = { queues: ['default', 'payments'], build: 'v7' }

  it('lists the errors with most failures if there are very many, and says so', async () => {
    const odd = defineJob({
      name: 'odd',
      retry: fixed({ delay: '1s', maxRetries: 0, jitter: 'none' }),
      async run() {
        throw new Error('no')
      },
    })
    await using t = testChronos({ jobs: [odd], store, work: { ...work, concurrency: 100 } })
    const numbers = Array.from({ length: ERRORS_MAX + 20 }, (_, number) => number)
    await t.enqueueMany(odd as never, numbers, number => ({ fingerprint: `error-${number}` }))
    await t.enqueueMany(odd as never, [1, 2], () => ({ fingerprint: 'frequent' }))
    await t.advance('1m')
    const report = await t.chronos.incident({})
    expect(report.errors).toHaveLength(ERRORS_MAX)
    expect(report.errors.find(({ fingerprint }) => fingerprint === 'frequent')).toMatchObject({ failures: 2 })
    expect(report.outcomes.failed).toBe(numbers.length + 2)
    expect(report.complete).toBe(false)
  })

  it('has a change by its time, also if its id is ahead because the clock was set back', async () => {
    let opened: Store | undefined
    const open = (clock: Clock): Store => {
      opened = store(clock)
      return opened
    }
    await using t = testChronos({ jobs: [mail], store: open, work })
    await t.advance('1h')
    const now = t.clock.now()
    const change = (at: number, id: number, summary: string) => ({
      kind: AUDIT_LOG,
      id: `${auditIdPrefix(id)}-7000-8000-${summary.length}`,
      body: JSON.stringify({ id: '', at: new Date(at), actor: 'ann', role: 'admin', action: 'pauseQueue', summary }),
    })
    await opened!.putRecords([
      change(now - 1_000, now + 86_400_000, 'paused'),
      change(now + 120_000, now + 120_000, 'later'),
    ])
    const { timeline } = await t.chronos.incident({ to: now })
    expect(timeline.filter(({ kind }) => kind === 'action')).toMatchObject([
      { text: expect.stringContaining('paused') },
    ])
  })

  it('has outcomes, errors, circuits and deploys of the range only', async () => {
    await using t = testChronos({ jobs: [pay, mail], store, work })
    state.isUp = true
    const start = t.clock.now()
    await t.enqueue(mail, { isBad: true }, { tenantId: 'acme' })
    await t.enqueue(mail, { isBad: false })
    await t.advance('2h')
    const from = t.clock.now()
    state.isUp = false
    await t.enqueueMany(
      pay,
      Array.from({ length: 20 }, (_, n) => n),
    )
    await t.advance('5m')
    state.isUp = true
    await t.advance('55m')
    const to = t.clock.now()
    await t.enqueue(mail, { isBad: true })
    await t.advance('1h')

    const report = await t.chronos.incident({ from, to })
    expect(report.outcomes).toMatchObject({ succeeded: { value: 20 }, dead: { value: 0 } })
    const runs = (await t.jobs.list({ failedAfter: from, failedBefore: to, queue: 'payments' })).data.length
    expect(report.errors).toMatchObject([
      { course: 'began', title: 'connect ECONNREFUSED', before: 0, queues: ['payments'], names: ['pay'] },
    ])
    expect(report.errors[0]!.failures).toBeGreaterThanOrEqual(runs)
    expect(report.outcomes.failed).toBe(report.errors[0]!.failures)
    const circuit = report.timeline.filter(({ kind }) => kind === 'circuit').map(({ text }) => text.slice(0, 24))
    expect(circuit[0]).toBe('circuit of stripe opened')
    expect(circuit.at(-1)).toBe('circuit of stripe closed')

    const before = await t.chronos.incident({ from: start, to: from })
    expect(before.outcomes).toMatchObject({ succeeded: { value: 1 }, dead: { value: 1 }, failed: 2 })
    expect(before.timeline).toMatchObject([
      { kind: 'deploy', target: 'v7', text: 'build v7 was deployed: 1 worker started on 1 host' },
      { kind: 'error', isTrouble: true },
      { kind: 'alert', text: expect.stringContaining('alert dead-letters fired') },
    ])
    expect((await t.chronos.workers())[0]).toMatchObject({ build: 'v7' })
  })

  it('shows a tenant its own part', async () => {
    await using t = testChronos({ jobs: [mail], store, work: { build: 'v7' } })
    await t.enqueue(mail, { isBad: true }, { tenantId: 'acme' })
    await t.enqueue(mail, { isBad: true }, { tenantId: 'globex' })
    await t.enqueue(mail, { isBad: false }, { tenantId: 'acme' })
    await t.advance('1m')
    const own = await t.chronos.incident({ tenantId: 'acme' })
    expect(own).toMatchObject({
      tenantId: 'acme',
      outcomes: { succeeded: { value: 1 }, dead: { value: 1 }, failed: 2 },
      errors: [{ failures: 2, deaths: 1 }],
    })
    expect(own.timeline.map(({ kind }) => kind)).toEqual(['error'])
    const all = await t.chronos.incident()
    expect(all.errors).toMatchObject([{ failures: 4, deaths: 2, tenants: ['globex', 'acme'] }])
  })

  it('names the error of a redrive as its own tenant knows it', async () => {
    const odd = defineJob({
      name: 'odd',
      retry: fixed({ delay: '1s', maxRetries: 0, jitter: 'none' }),
      async run(payload: { readonly secret: string }) {
        throw new Error(`refused: ${payload.secret}`)
      },
    })
    await using t = testChronos({ jobs: [odd], store, work })
    for (const tenantId of ['acme', 'globex']) {
      await t.enqueue(odd, { secret: `secret of ${tenantId}` }, { tenantId, fingerprint: 'refused' })
    }
    await t.advance('3h')
    await t.chronos.dead.redrive({ fingerprint: 'refused', tenantId: 'globex' })
    const at = t.now().getTime()
    const range = { from: new Date(at - 60_000), to: new Date(at + 60_000) }
    const { timeline } = await t.chronos.incident({ tenantId: 'globex', ...range })
    const texts = timeline.filter(({ kind }) => kind === 'redrive').map(({ text }) => text)
    expect(texts).toEqual([expect.stringContaining('secret of globex')])
  })

  it('breaks an error down by tenant, queue, job name, worker and build', async () => {
    await using t = testChronos({ jobs: [mail], store, work: { queues: ['default', 'urgent'], build: 'v8' } })
    await t.enqueue(mail, { isBad: true }, { tenantId: 'acme' })
    await t.enqueue(mail, { isBad: true }, { tenantId: 'constructor', queue: 'urgent' })
    await t.enqueue(mail, { isBad: true })
    await t.advance('1m')
    const [group] = (await t.chronos.dead.groups()).data
    const { fingerprint } = group!
    const [worker] = await t.chronos.workers()
    const breakdown = await t.chronos.dead.breakdown(fingerprint)
    expect(breakdown).toMatchObject({
      failures: 6,
      deaths: 3,
      queues: [
        { value: 'default', failures: 4 },
        { value: 'urgent', failures: 2 },
      ],
      names: [{ value: 'mail', failures: 6 }],
      workers: [{ value: worker!.id, failures: 6 }],
      builds: [{ value: 'v8', failures: 6 }],
      complete: true,
    })
    expect(breakdown.tenants).toHaveLength(3)
    expect(breakdown.tenants).toEqual(
      expect.arrayContaining([{ value: 'acme', failures: 2 }, { value: 'constructor', failures: 2 }, { failures: 2 }]),
    )
    expect(breakdown.points.reduce((sum, { failures }) => sum + failures, 0)).toBe(6)
    expect(await t.chronos.dead.breakdown(fingerprint, { tenantId: 'acme' })).toMatchObject({ failures: 2, deaths: 1 })
  })

  it('keeps an assignee and notes of an error, also of a tenant', async () => {
    await using t = testChronos({ jobs: [mail], store })
    await t.enqueue(mail, { isBad: true }, { tenantId: 'acme' })
    await t.advance('1m')
    const { dead } = t.chronos
    const { fingerprint } = (await dead.groups()).data[0]!
    await dead.assign(fingerprint, 'ann')
    const noted = await dead.addNote(fingerprint, 'the provider is down', undefined, 'ann')
    expect(noted).toMatchObject({ assignee: 'ann', notes: [{ text: 'the provider is down', by: 'ann' }] })
    expect((await dead.groups()).data).toMatchObject([{ assignee: 'ann', notes: [{}] }])
    expect(await dead.group(fingerprint, 'acme')).not.toHaveProperty('assignee')
    await dead.addNote(fingerprint, 'ours', 'acme')
    expect((await dead.group(fingerprint, 'acme')).notes).toMatchObject([{ text: 'ours' }])
    const id = noted.notes![0]!.id
    expect(await dead.removeNote(fingerprint, id)).not.toHaveProperty('notes')
    await expect(dead.removeNote(fingerprint, id)).rejects.toThrow('there is no note')
    expect(await dead.assign(fingerprint, null)).not.toHaveProperty('assignee')
    await expect(dead.assign('missing', 'ann')).rejects.toThrow('there is no error group')
  })

  it('refuses a range that ends before it starts, or is longer than a week', async () => {
    await using t = testChronos({ jobs: [mail], store })
    const now = t.clock.now()
    await expect(t.chronos.incident({ from: now, to: now })).rejects.toThrow('from must be before to')
    await expect(t.chronos.incident({ from: now - 8 * 86_400_000 })).rejects.toThrow('at most 7 days')
  })

  it('forgets events after 90 days', async () => {
    let opened: Store | undefined
    const open = (clock: Clock): Store => {
      opened = store(clock)
      return opened
    }
    await using t = testChronos({ jobs: [mail], store: open })
    await t.advance('1m')
    const at = t.clock.now() - 90 * 86_400_000
    const event = { type: 'circuit-opened', dependency: 'stripe' } as const
    await opened!.putRecords(
      eventWrites([
        { ...event, at: at - 1 },
        { ...event, at: at + 86_400_000 },
      ]),
    )
    await t.advance('2h')
    expect(await opened!.records(FLEET_EVENT, { limit: 10 })).toHaveLength(1)
  })
})
