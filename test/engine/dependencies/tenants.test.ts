import { describe, expect, it } from 'vitest'
import { newDependency } from '../../../src/core/dependency/dependency.js'
import { RetryAfter } from '../../../src/core/failure/retry-after.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import { dependencyId } from '../../../src/engine/dependencies/answer.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const KEY = 'https://api.example'

function world(open: (typeof STORES)[number][1]) {
  const runs: (string | undefined)[] = []
  const failing = new Set<string | undefined>()
  const throttling = new Set<string | undefined>()
  const call = defineJob({
    name: 'call',
    dependsOn: KEY,
    retry: {
      maxRetries: 9,
      backoff: { type: 'fixed', delay: '5s' },
      jitter: 'none',
      circuit: { minimumCalls: 4, openFor: '10m' },
    },
    run(_: unknown, { tenantId }) {
      runs.push(tenantId)
      if (throttling.has(tenantId)) throw new RetryAfter('24h')
      if (failing.has(tenantId)) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    },
  })
  const t = testChronos({ jobs: [call], store: open, work: { concurrency: 5 } })
  const enqueue = (tenantId: string | undefined, count: number) =>
    t.enqueueMany(
      call,
      Array.from({ length: count }, () => ({ n: 1 })),
      tenantId === undefined ? {} : { tenantId },
    )
  return { t, call, runs, failing, throttling, enqueue }
}

describe.each(STORES)('dependencies of tenants on %s', (_, open) => {
  it('fail for one tenant and stay available to others, and to jobs without a tenant', async () => {
    const { t, runs, failing, enqueue } = world(open)
    failing.add('acme')
    await enqueue('acme', 10)
    await t.advance('1s')
    expect((await t.chronos.circuits.list()).data).toMatchObject([{ key: KEY, tenantId: 'acme', state: 'open' }])
    runs.length = 0
    await enqueue('globex', 3)
    await enqueue(undefined, 2)
    await t.advance('1s')
    expect(runs.sort()).toEqual(['globex', 'globex', 'globex', undefined, undefined])
    const states = (await t.chronos.circuits.list()).data.map(({ tenantId, state }) => [tenantId, state])
    expect(states).toEqual([
      [undefined, 'closed'],
      ['acme', 'open'],
      ['globex', 'closed'],
    ])
    await t.close()
  })

  it('throttle only the tenant that received the Retry-After', async () => {
    const { t, runs, throttling, enqueue } = world(open)
    throttling.add('acme')
    await enqueue('acme', 5)
    await t.advance('2s')
    const tries = runs.length
    await enqueue('globex', 5)
    await t.advance('2s')
    expect(runs.slice(tries)).toEqual(Array.from({ length: 5 }, () => 'globex'))
    await t.close()
  })

  it('are opened and closed by an operator, tenant by tenant', async () => {
    const { t, runs, enqueue } = world(open)
    await enqueue('acme', 1)
    await enqueue('globex', 1)
    await t.advance('1s')
    const { circuits } = t.chronos
    await expect(circuits.open(KEY)).rejects.toThrow(`there is no circuit "${KEY}"; `)
    await expect(circuits.open(KEY, { tenantId: 'hooli' })).rejects.toThrow('of tenant "hooli"')
    expect(await circuits.open(KEY, { tenantId: 'acme' })).toMatchObject({ tenantId: 'acme', forced: 'open' })
    expect(await circuits.get(KEY, { tenantId: 'globex' })).not.toHaveProperty('forced')
    runs.length = 0
    await enqueue('acme', 3)
    await enqueue('globex', 2)
    await t.advance('5s')
    expect(runs).toEqual(['globex', 'globex'])
    const [waiting] = (await t.jobs.list({ tenantId: 'acme', state: 'waiting' })).data
    expect(await t.jobs.explain(waiting!.id)).toMatchObject({ waiting: { because: 'circuit-open' } })
    await circuits.close(KEY, { tenantId: 'acme' })
    await t.drain({ within: '5m' })
    expect(runs.filter(tenant => tenant === 'acme')).toHaveLength(3)
    await t.close()
  })

  it('ignore the circuit that an older version stored for all tenants', async () => {
    const { t, runs, enqueue } = world(open)
    const now = t.clock.now()
    const old = { ...newDependency({ key: KEY }, {}, now), circuit: 'open', openUntil: now + 3_600_000 }
    const store = await t.chronos.store()
    await store.putRecords([{ kind: 'dependency', id: KEY, body: JSON.stringify(old) }])
    await enqueue('acme', 1)
    await enqueue(undefined, 1)
    await t.advance('5s')
    expect(runs).toEqual(['acme'])
    await t.close()
  })

  it('raise events with their tenant', async () => {
    const { t, failing, enqueue } = world(open)
    const opened: unknown[] = []
    t.chronos.on('circuit.opened', event => opened.push(event))
    failing.add('acme')
    await enqueue('acme', 10)
    await t.advance('1s')
    expect(opened).toMatchObject([{ key: KEY, tenantId: 'acme' }])
    await t.close()
  })
})

describe('the id of a dependency', () => {
  it('differs for every pair of tenant and key, whatever they contain', () => {
    const texts = ['a', '~a', 'a b', '~["a","b"]', '"', '["a"]', '~', 'x'.repeat(1024), '\u4e16'.repeat(1024)]
    const names = texts.flatMap(key => [{ key }, ...texts.map(tenantId => ({ key, tenantId }))])
    expect(new Set(names.map(dependencyId)).size).toBe(names.length)
    for (const name of names) expect(Buffer.byteLength(dependencyId(name))).toBeLessThanOrEqual(2_000)
  })
})
