import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { defineJob } from '../../../src/engine/client/definition.js'
import type { List, TenantQuery } from '../../../src/engine/jobs/query.js'
import { testChronos } from '../../../src/testing.js'
import { STORES } from '../../support/stores.js'

const bad = defineJob({
  name: 'bad',
  retry: fixed({ delay: '1h', maxRetries: 0 }),
  async run(_payload: unknown) {
    throw new Error('no')
  },
})

/** Ids of all pages. */
async function all<T extends { id: string }>(list: (query: TenantQuery) => Promise<List<T>>, tenantId: string) {
  const ids: string[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const { data, page } = await list({ limit: 2, tenantId, ...(cursor !== undefined && { cursor }) })
    ids.push(...data.map(({ id }) => id))
    cursor = page.next
  }
  return ids
}

describe.each(STORES)('tenants on %s', (_, store) => {
  test('schedules of one tenant, page by page', async () => {
    await using t = testChronos({ jobs: [bad], store })
    for (let n = 10; n < 20; n++) {
      await t.chronos.schedules.put(`s${n}`, {
        cron: '0 0 * * *',
        job: bad,
        payload: 1,
        tenantId: n % 2 ? 'acme' : 'other',
      })
    }
    const found = await all(query => t.chronos.schedules.list(query), 'acme')
    expect(found).toEqual(['s11', 's13', 's15', 's17', 's19'])
    expect((await t.chronos.schedules.list({ tenantId: 'acme' })).data[0]?.tenantId).toBe('acme')
    expect(await all(query => t.chronos.schedules.list(query), 'unknown')).toEqual([])
  })

  test('webhooks of one tenant, page by page', async () => {
    await using t = testChronos({ jobs: [bad], store })
    const mine: string[] = []
    for (let n = 0; n < 7; n++) {
      const input = { url: 'https://a.example/', events: ['job.dead'] as const, tenantId: n % 2 ? 'acme' : 'other' }
      const { id, tenantId } = await t.chronos.webhooks.create(input)
      if (tenantId === 'acme') mine.push(id)
    }
    expect(await all(query => t.chronos.webhooks.list(query), 'acme')).toEqual(mine)
  })

  test('redrives and error groups of one tenant', async () => {
    await using t = testChronos({ jobs: [bad], store })
    for (const tenantId of ['acme', 'acme', 'other']) await t.enqueue(bad, {}, { tenantId })
    await t.enqueue(bad)
    await t.drain()
    const { dead, redrives } = t.chronos
    const { data } = await dead.groups({ tenantId: 'acme' })
    expect(data).toMatchObject([{ tenantId: 'acme', dead: 2 }])
    const { fingerprint } = data[0]!
    const redrive = await redrives.start({ fingerprint, tenantId: 'acme' })
    expect(redrive).toMatchObject({ tenantId: 'acme', total: { value: 2 } })
    await redrives.start({ fingerprint, tenantId: 'other' })
    await redrives.start({ fingerprint })
    expect(await all(query => redrives.list(query), 'acme')).toEqual([redrive.id])
    expect((await redrives.list()).data).toHaveLength(3)
    await expect(redrives.start({ fingerprint, tenantId: 'unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test("a tenant's error group is known without a dead letter of it", async () => {
    await using t = testChronos({ jobs: [bad], store })
    const { id } = await t.enqueue(bad, {}, { tenantId: 'acme' })
    await t.drain()
    const { data } = await t.chronos.dead.groups({ tenantId: 'acme' })
    await t.jobs.delete(id)
    const { fingerprint } = data[0]!
    const options = { dryRun: true } as const
    expect(await t.chronos.redrives.start({ fingerprint, tenantId: 'acme' }, options)).toMatchObject({
      count: { value: 0 },
    })
    await expect(t.chronos.redrives.start({ fingerprint }, options)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
