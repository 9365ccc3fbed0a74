import { describe, expect, test } from 'vitest'
import { parsePolicy } from '../../../src/core/policy/policy.js'
import { PRESETS } from '../../../src/core/policy/presets.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { VirtualClock } from '../../../src/engine/time/virtual.js'
import { isKnownPolicy, unknownPartOf } from '../../../src/engine/worker/unknown.js'
import type { NewJob, Store } from '../../../src/store/store.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

let count = 0
const job = (more: Partial<NewJob>): NewJob => ({
  id: `01890000-0000-7000-8000-${String(++count).padStart(12, '0')}`,
  name: 'work',
  queue: 'default',
  priority: 5,
  delivery: 'at-least-once',
  payload: '{}',
  runAt: { delayMs: 0 },
  tags: [],
  ...more,
})
const NEWER_POLICY = { maxRetries: 1, backoff: { type: 'quantum', base: '1s' } } as never

describe.each(STORES)('what only a newer version understands, on %s', (_, open) => {
  test.each([
    ['the encoding of a payload', { payload: '\u0002zstd:AAAA' }],
    ['a payload in a new place', { payload: '\u0003' }],
    ['a kind of backoff', { override: NEWER_POLICY }],
    ['a setting of a policy', { override: { maxRetries: 3, hedge: true } as never }],
  ] as const)('%s: the job is handed back without a run, whatever its delivery', async (_what, strange) => {
    let runs = 0
    const work = defineJob({ name: 'work', run: () => void runs++ })
    const t = testChronos({ jobs: [work], store: open })
    const store = await t.chronos.store()
    const jobs = [job(strange), job({ ...strange, delivery: 'at-most-once' }), job({})]
    await store.enqueue(jobs)
    t.worker.wake()
    await t.advance('10m')
    expect(runs).toBe(1)
    for (const { id } of jobs.slice(0, 2)) {
      expect(await store.get(id)).toMatchObject({ state: 'waiting', attempt: 0, run: 0, begun: false })
      expect((await store.history(id, { limit: 5 })).data).toEqual([])
    }
    await t.close()
  })

  test('a job is handed back by a claim of pull workers too', async () => {
    const t = testChronos({ jobs: [], store: open, work: { queues: ['other'] } })
    const store = await t.chronos.store()
    await store.putPolicies([{ id: 'newer', policy: JSON.stringify(NEWER_POLICY) }])
    const jobs = [job({ payload: '\u0002zstd:AAAA' }), job({ policyId: 'newer' }), job({})]
    await store.enqueue(jobs)
    const { data } = await t.chronos.leases.claim({ workerId: 'pull', queues: ['default'], limit: 10 })
    expect(data.map(lease => lease.job.id)).toEqual([jobs[2]!.id])
    for (const { id } of jobs.slice(0, 2)) expect(await store.get(id)).toMatchObject({ state: 'waiting', attempt: 0 })
    await t.close()
  })

  test('the sweeper leaves a job with such a policy to a newer process, and ends the others', async () => {
    let store: Store | undefined
    const shared = (clock: VirtualClock): Store => {
      store = open(clock)
      return store
    }
    const t = testChronos({ jobs: [], store: shared, work: { lease: '30s', queues: ['other'] } })
    await t.chronos.store()
    await store!.putPolicies([{ id: 'newer', policy: JSON.stringify(NEWER_POLICY) }])
    const [strange, usual] = [job({ policyId: 'newer' }), job({})]
    await store!.enqueue([strange, usual])
    const request = {
      workerId: 'gone',
      queues: ['default'],
      names: { list: ['work'], isExcluded: false },
      limit: 10,
      leaseMs: 30_000,
      policyIds: {},
    }
    await store!.claim({ ...request, token: 'f'.repeat(32) })
    await t.advance('5m')
    expect(await store!.get(strange.id)).toMatchObject({ state: 'running' })
    expect(await store!.get(usual.id)).toMatchObject({ state: 'waiting' })
    await t.close()
  })

  test('records of unknown kinds stay as they are', async () => {
    const t = testChronos({ jobs: [], store: open })
    const store = await t.chronos.store()
    await store.putRecords([{ kind: 'hologram', id: 'x', body: 'not even JSON' }])
    await t.advance('3h')
    expect(await store.records('hologram', { ids: ['x'] })).toMatchObject([{ version: 1, body: 'not even JSON' }])
    await t.close()
  })
})

describe('what this version understands', () => {
  test.each(['{}', '[]', '"text"', '1', '-1.5', 'true', 'false', 'null'])('the payload %s', payload => {
    expect(unknownPartOf({ payload })).toBeUndefined()
  })

  test.each(Object.entries(PRESETS))('the preset %s', (_name, preset) => {
    expect(isKnownPolicy(preset)).toBe(true)
  })

  test('other names for the settings, as they are stored', () => {
    const stored = parsePolicy({ maxRetries: 3, retryDelay: 1000, useExponentialBackoff: false }, 'retry')
    expect(isKnownPolicy(JSON.parse(JSON.stringify(stored)))).toBe(true)
  })
})
