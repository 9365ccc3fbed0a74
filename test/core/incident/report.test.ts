import { describe, expect, it } from 'vitest'
import type { FleetEvent } from '../../../src/core/incident/event.js'
import { type ErrorFacts, groupsNamed, type IncidentFacts, incidentOf } from '../../../src/core/incident/report.js'
import type { Redrive } from '../../../src/core/redrive/redrive.js'

const FROM = Date.parse('2026-11-18T02:00:00Z')
const at = (minutes: number): number => FROM + minutes * 60_000
const exact = (value: number) => ({ value, relation: 'exact' }) as const

const NIGHT: IncidentFacts = {
  from: FROM,
  to: at(60),
  outcomes: { succeeded: exact(8210), dead: exact(17), cancelled: exact(0), failed: 132 },
  errors: [],
  events: [],
  redrives: [],
  actions: [],
  complete: true,
}

const ERROR: ErrorFacts = {
  fingerprint: 'f1',
  title: 'connect ECONNRESET <ip>',
  failures: 132,
  deaths: 17,
  before: 0,
  firstAt: at(3),
  firstSeen: at(3),
  queues: ['payments'],
  names: ['charge-card'],
}

const redrive = (more: Partial<Redrive>): Redrive => ({
  id: 'r1',
  filter: { fingerprint: 'f1' },
  perSecond: 10,
  canary: 10,
  stopWhenFailing: 0.2,
  force: false,
  state: 'done',
  total: exact(17),
  createdAt: at(40),
  isListed: true,
  skipped: 0,
  conflicts: [],
  conflictCount: 0,
  ...more,
})

const textsOf = (facts: Partial<IncidentFacts>): readonly string[] =>
  incidentOf({ ...NIGHT, ...facts }).timeline.map(entry => `${entry.at.slice(11, 16)} ${entry.text}`)

describe('an incident report', () => {
  it('tells a night in order: deploy, error, circuit, alert, redrive, recovery', () => {
    const circuit = { dependency: 'stripe' }
    const alert = {
      alertId: 'a1',
      rule: 'dead-letters',
      labels: { queue: 'payments' },
      severity: 'critical',
      summary: '17 unacknowledged dead letters in queue payments',
    } as const
    const events: FleetEvent[] = [
      { type: 'worker-started', at: at(1), workerId: 'w1', host: 'a', build: '2026.11.18-2' },
      { type: 'worker-started', at: at(2), workerId: 'w2', host: 'b', build: '2026.11.18-2' },
      { type: 'circuit-opened', at: at(4), ...circuit, reason: '5 of 6 calls failed' },
      { type: 'alert-fired', at: at(10), ...alert },
      { type: 'circuit-closed', at: at(34), ...circuit },
      { type: 'alert-resolved', at: at(50), ...alert },
    ]
    const actions = [
      {
        id: 'e1',
        at: new Date(at(39)).toISOString(),
        actor: 'ann',
        role: 'admin',
        action: 'POST /dead/redrive',
        summary: 'redrove 17 dead letters',
      },
      { id: 'e2', at: new Date(at(41)).toISOString(), actor: 'bot', role: 'admin', action: 'POST /leases:claim' },
    ]
    const report = incidentOf({
      ...NIGHT,
      errors: [ERROR],
      events,
      actions,
      redrives: [redrive({ finishedAt: at(45) })],
    })
    expect(report.timeline.map(entry => `${entry.at.slice(11, 16)} ${entry.text}`)).toEqual([
      '02:01 build 2026.11.18-2 was deployed: 2 workers started on 2 hosts',
      '02:03 error "connect ECONNRESET <ip>" began: 132 failed runs, 17 jobs died, charge-card in queue payments',
      '02:04 circuit of stripe opened: 5 of 6 calls failed',
      '02:10 critical alert dead-letters fired: 17 unacknowledged dead letters in queue payments',
      '02:34 circuit of stripe closed after 30m',
      '02:39 ann redrove 17 dead letters',
      '02:40 redrive of 17 jobs started (error "connect ECONNRESET <ip>")',
      '02:45 redrive of 17 jobs was finished',
      '02:50 alert dead-letters was resolved after 40m',
    ])
    expect(report.timeline.map(({ kind, target, until }) => [kind, target, until?.slice(11, 16)])).toEqual([
      ['deploy', '2026.11.18-2', undefined],
      ['error', 'f1', undefined],
      ['circuit', 'stripe', '02:34'],
      ['alert', 'a1', '02:50'],
      ['circuit', 'stripe', undefined],
      ['action', 'e1', undefined],
      ['redrive', 'r1', undefined],
      ['redrive', 'r1', undefined],
      ['alert', 'a1', undefined],
    ])
    expect(report.summary).toEqual([
      '8,210 jobs succeeded, 17 died; 132 runs failed.',
      '1 error group began or spiked.',
      'The first sign of trouble was at 02:03:00 UTC: error "connect ECONNRESET <ip>" began: 132 failed runs, 17 jobs died, charge-card in queue payments.',
    ])
  })

  it.each<[what: string, error: Partial<ErrorFacts>, course: string]>([
    ['was seen for the first time', {}, 'began'],
    ['was known, and failed three times as often', { firstSeen: 0, failures: 30, before: 10 }, 'spiked'],
    ['failed a little more often', { firstSeen: 0, failures: 29, before: 10 }, 'continued'],
    ['fails rarely', { firstSeen: 0, failures: 9, before: 0 }, 'continued'],
    ['was pruned since', { firstSeen: undefined, failures: 30, before: 0 } as unknown as ErrorFacts, 'spiked'],
    ['was seen first after the range', { firstSeen: at(61), failures: 1 }, 'continued'],
  ])('knows that an error that %s', (_what, error, course) => {
    expect(incidentOf({ ...NIGHT, errors: [{ ...ERROR, ...error }] }).errors[0]!.course).toBe(course)
  })

  it('lists errors that went on, without a line in the timeline', () => {
    const report = incidentOf({ ...NIGHT, errors: [{ ...ERROR, firstSeen: 0, failures: 5, before: 5 }] })
    expect(report.errors).toHaveLength(1)
    expect(report.timeline).toEqual([])
    expect(report.summary.at(-1)).toBe('Nothing went wrong that Chronos knows of.')
  })

  it('keeps the circuits of tenants apart', () => {
    const events: FleetEvent[] = [
      { type: 'circuit-opened', at: at(1), dependency: 'stripe', tenantId: 'acme' },
      { type: 'circuit-closed', at: at(2), dependency: 'stripe', tenantId: 'globex' },
    ]
    expect(textsOf({ events })).toEqual([
      '02:01 circuit of stripe of tenant acme opened',
      '02:02 circuit of stripe of tenant globex closed',
    ])
  })

  it('says why a redrive was stopped, and leaves out what is outside the range', () => {
    const stopped = redrive({ state: 'stopped', createdAt: at(-5), finishedAt: at(5), why: '4 of 10 failed again' })
    expect(textsOf({ redrives: [stopped] })).toEqual(['02:05 redrive of 17 jobs was stopped: 4 of 10 failed again'])
  })

  it('names the error groups of redrives by their text, if it is known', () => {
    const redrives = [
      redrive({ filter: { fingerprint: 'f2', queue: 'mail' } }),
      redrive({ filter: { fingerprint: 'f3' } }),
    ]
    expect(groupsNamed(redrives)).toEqual(['f2', 'f3'])
    expect(textsOf({ redrives, titles: new Map([['f2', 'no such mailbox']]) })).toEqual([
      '02:40 redrive of 17 jobs started (error "no such mailbox", queue mail)',
      '02:40 redrive of 17 jobs started (error group f3)',
    ])
  })

  it('says if operators are left out', () => {
    const { actions: _, ...facts } = NIGHT
    expect(incidentOf(facts)).toMatchObject({ hasActions: false })
    expect(incidentOf(NIGHT)).toMatchObject({ hasActions: true })
  })
})
