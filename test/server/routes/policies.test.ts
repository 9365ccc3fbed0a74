import { describe, expect, it } from 'vitest'
import { startServer } from '../server.js'

interface Preview {
  readonly rows: readonly { readonly delayMs: number | null; readonly label: string }[]
}

describe('policies', () => {
  it('list presets and policies of queues', async () => {
    await using t = await startServer()
    await t.api('PUT', '/queues/mail', { retry: { maxRetries: 7 } })
    const { body } = await t.api<{ presets: { name: string }[] }>('GET', '/policies')
    expect(body).toMatchObject({ queues: [{ queue: 'mail', retry: { maxRetries: 7 } }] })
    expect(body.presets).toContainEqual(expect.objectContaining({ name: 'standard', goodFor: 'the default' }))
  })

  it('are previewed', async () => {
    await using t = await startServer()
    const asked = { policy: { maxRetries: 3, retryDelay: '30s', useExponentialBackoff: true } }
    const { body } = await t.api<Preview>('POST', '/policies:preview', asked)
    expect(body.rows.map(({ delayMs }) => delayMs)).toEqual([30_000, 60_000, 120_000])
    expect(body).toMatchObject({ policy: { maxRetries: 3 }, outageSurvivedMs: expect.any(Number) })
    const custom = await t.api<Preview>('POST', '/policies:preview', {
      policy: { backoff: { type: 'custom', name: 'f' } },
    })
    expect(custom.body).toMatchObject({ outageSurvivedMs: null, findings: [{ code: 'custom-backoff' }] })
    expect(custom.body.rows[0]).toMatchObject({ delayMs: null, label: 'Retry #1' })
  })

  it('are simulated, with the same result for the same seed', async () => {
    await using t = await startServer()
    const asked = { policy: 'standard', scenario: { jobs: 500, outage: '5m', capacityPerSecond: 50, seed: 7 } }
    const first = await t.api('POST', '/policies:simulate', asked)
    expect(first.body).toMatchObject({
      scenario: { jobs: 500, outageMs: 300_000, seed: 7, capacityPerSecond: 50 },
      withJitter: { succeeded: expect.any(Number), waves: [{ retry: 0, attempts: 500 }, {}, {}, {}] },
    })
    expect((await t.api('POST', '/policies:simulate', asked)).body).toEqual(first.body)
  })

  it('are simulated with the limits of a queue and of its partitions', async () => {
    await using t = await startServer()
    const limits = { limit: { rate: '10/s', burst: 1 }, partitions: { count: 4, concurrency: 1 }, takes: '1s' }
    const scenario = { jobs: 40, outage: '0s', ...limits }
    expect((await t.api('POST', '/policies:simulate', { policy: 'standard', scenario })).body).toMatchObject({
      scenario: { limit: limits.limit, partitions: limits.partitions, takesMs: 1_000 },
      withJitter: { succeeded: 40, heldBack: 39, longestWaitMs: 9_300, doneMs: 10_300 },
    })
  })

  it.each([
    [{ jobs: 1, outage: '5m', limit: { rate: 'x' } }, 'standard', 'INVALID_REQUEST'],
    [{ jobs: 20_001, outage: '5m' }, 'standard', 'INVALID_REQUEST'],
    [{ jobs: 20_000, outage: '5m' }, 'patient', 'INVALID_OPTION'],
    [{ jobs: 1, outage: '5m' }, { maxRetries: 201 }, 'INVALID_OPTION'],
    [{ jobs: 1, outage: '5m' }, { backoff: { type: 'custom', name: 'f' } }, 'INVALID_POLICY'],
    [{ jobs: 1 }, 'standard', 'INVALID_REQUEST'],
    [{ jobs: 1, outage: '5m', herd: 1 }, 'standard', 'INVALID_REQUEST'],
  ])('refuse %j of %j', async (scenario, policy, code) => {
    await using t = await startServer()
    const { status, body } = await t.api('POST', '/policies:simulate', { policy, scenario })
    expect([status, body]).toMatchObject([422, { code }])
  })

  it('write nothing to the audit log', async () => {
    await using t = await startServer()
    await t.api('POST', '/policies:preview', { policy: 'standard' })
    await t.api('POST', '/policies:simulate', { policy: 'standard', scenario: { jobs: 1, outage: '1m' } })
    expect((await t.api('GET', '/audit')).body).toEqual({ data: [], page: {} })
  })
})
