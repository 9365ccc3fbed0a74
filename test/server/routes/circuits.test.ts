import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type Dependency, newDependency } from '../../../src/core/dependency/dependency.js'
import { dependencyId } from '../../../src/engine/dependencies/answer.js'
import type { CircuitView } from '../../../src/engine/dependencies/circuits.js'
import { defineJob } from '../../../src/index.js'
import { startServer } from '../server.js'

const KEY = 'https://api.example:8443/v1'
const path = `/circuits/${encodeURIComponent(KEY)}`

describe('circuits', () => {
  it('are forced open and closed, with keys that contain slashes and colons', async () => {
    await using t = await startServer()
    const served = new EventTarget()
    t.chronos.on('job.succeeded', () => served.dispatchEvent(new Event('end')))
    const call = defineJob({ name: 'call', dependsOn: KEY, retry: { circuit: true }, run: async () => 'ok' })
    t.chronos.work([call], { signals: false })
    const end = once(served, 'end')
    await t.chronos.enqueue(call)
    await end
    // Workers report what they saw of a dependency with a delay.
    await expect
      .poll(async () => (await t.api('GET', '/circuits')).body)
      .toMatchObject({ data: [{ key: KEY, state: 'closed' }], page: {} })
    expect((await t.api('GET', path)).body).toMatchObject({ key: KEY })
    expect((await t.api('POST', `${path}/open`)).body).toMatchObject({ state: 'open', forced: 'open' })
    expect((await t.api('POST', `${path}/close`, { hold: true })).body).toMatchObject({ forced: 'closed' })
    const closed = await t.api('POST', `${path}/close`)
    expect(closed.body).not.toHaveProperty('forced')
  })

  it('name their tenant, and are opened and closed for one tenant', async () => {
    await using t = await startServer()
    const store = await t.chronos.store()
    const dependency = newDependency({ key: KEY, tenantId: 'acme' }, {}, 0)
    const id = dependencyId(dependency)
    await store.putRecords([{ kind: 'dependency', id, body: JSON.stringify(dependency) }])
    expect((await t.api('GET', '/circuits')).body).toMatchObject({ data: [{ key: KEY, tenantId: 'acme' }] })
    expect((await t.api('POST', `${path}/open`)).status).toBe(404)
    const forced = { tenantId: 'acme', forced: 'open' }
    expect((await t.api('POST', `${path}/open`, { tenantId: 'acme' })).body).toMatchObject(forced)
    expect((await t.api('GET', `${path}?tenantId=acme`)).body).toMatchObject(forced)
    const closed = await t.api('POST', `${path}/close`, { tenantId: 'acme', hold: true })
    expect(closed.body).toMatchObject({ tenantId: 'acme', forced: 'closed' })
  })

  it('are listed in pages, and found by a text in their name and by what restricts them', async () => {
    await using t = await startServer()
    const store = await t.chronos.store()
    const named = Array.from({ length: 300 }, (_, n) => ({ key: `api-${n}`, ...(n % 3 === 0 && { tenantId: 'acme' }) }))
    await store.putRecords(
      named.map((name, n) => {
        const dependency: Dependency = {
          ...newDependency(name, {}, 0),
          ...(n % 50 === 7 && { circuit: 'open', openUntil: 1 }),
          ...(n % 50 === 8 && { forced: 'closed' }),
        }
        return { kind: 'dependency', id: dependencyId(dependency), body: JSON.stringify(dependency) }
      }),
    )
    const read = async (query: string): Promise<CircuitView[][]> => {
      const pages: CircuitView[][] = []
      for (let cursor = ''; ; ) {
        const { status, body } = await t.api('GET', `/circuits?${query}${cursor}`)
        expect(status).toBe(200)
        const { data, page } = body as { data: CircuitView[]; page: { next?: string } }
        pages.push(data)
        if (page.next === undefined) return pages
        cursor = `&cursor=${encodeURIComponent(page.next)}`
      }
    }
    const all = await read('')
    expect(all.map(page => page.length)).toEqual([50, 50, 50, 50, 50, 50])
    expect(all.flat().map(({ key, tenantId }) => [tenantId, key].join(' '))).toEqual([
      ...named.flatMap(({ key, tenantId }) => (tenantId === undefined ? ` ${key}` : [])).sort(),
      ...named.flatMap(({ key, tenantId }) => (tenantId === undefined ? [] : `acme ${key}`)).sort(),
    ])
    const restricted = (await read('restricted=true&limit=5')).flat()
    expect(restricted.map(({ key }) => Number(key.slice(4)) % 50).sort()).toEqual([
      ...Array(6).fill(7),
      ...Array(6).fill(8),
    ])
    expect((await read('restricted=false&limit=200')).flat()).toHaveLength(288)
    const open = (await read('state=open&state=half-open&limit=5')).flat()
    expect(open.map(({ key }) => Number(key.slice(4)) % 50)).toEqual(Array(6).fill(7))
    expect((await read('q=API-29')).flat()).toHaveLength(11)
    expect((await t.api('GET', '/circuits?limit=0')).status).toBe(422)
    expect(await t.chronos.circuits.list({ limit: 1 })).toMatchObject({
      data: [{ key: 'api-1' }],
      page: { next: 'api-10' },
    })
  })

  it('exist once a job has used them, and refuse invalid requests', async () => {
    await using t = await startServer()
    expect((await t.api('GET', '/circuits')).body).toEqual({ data: [], page: {} })
    expect((await t.api('GET', path)).status).toBe(404)
    const missing = await t.api('POST', `${path}/open`)
    expect([missing.status, missing.body]).toMatchObject([404, { code: 'NOT_FOUND' }])
    const wrong = await t.api('POST', `${path}/close`, { hold: 'yes', now: true })
    expect([wrong.status, wrong.body]).toMatchObject([422, { errors: [{ pointer: '/hold' }, { pointer: '/now' }] }])
  })
})
