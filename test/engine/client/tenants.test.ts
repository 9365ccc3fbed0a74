import { describe, expect, test } from 'vitest'
import { fixed } from '../../../src/core/policy/builders.js'
import { present } from '../../../src/core/values/present.js'
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

  test('one error is one group, whose numbers are those of the store', async () => {
    const fail = (name: string, message: string) =>
      defineJob({ name, retry: fixed({ delay: '1s', maxRetries: 1 }), run: () => Promise.reject(new Error(message)) })
    const [down, full] = [fail('charge', 'gateway is down'), fail('export', 'disk is full')]
    await using t = testChronos({ jobs: [down, full], store })
    t.chronos.work([down, full], { queues: ['mail', 'default'], signals: false })
    for (const tenantId of ['acme', 'acme', 'globex', undefined]) {
      for (const queue of ['mail', 'default', 'default']) {
        for (const job of [down, full]) await t.enqueue(job, undefined, present({ queue, tenantId }))
      }
    }
    await t.drain()
    const { dead } = t.chronos
    const { data } = await dead.groups()
    expect(data).toHaveLength(2)
    for (const group of data) {
      const { fingerprint, tenants = [] } = group
      const { value } = await t.jobs.count({ state: 'dead', fingerprint })
      expect(group).toMatchObject({ dead: value, deaths: 12, failures: 24, state: 'open' })
      expect(group.trend.reduce((sum, { failures }) => sum + failures, 0)).toBe(24)
      expect(group.queues.toSorted()).toEqual(['default', 'mail'])
      expect(group).not.toHaveProperty('tenantId')
      expect(await dead.group(fingerprint)).toEqual(group)
      expect(tenants.map(({ tenantId, dead: own }) => [tenantId, own])).toEqual(
        expect.arrayContaining([
          ['acme', 6],
          ['globex', 3],
          [undefined, 3],
        ]),
      )
      for (const { tenantId, dead: own } of tenants.filter(each => each.tenantId !== undefined)) {
        const query = { state: 'dead', fingerprint, ...present({ tenantId }) } as const
        expect(await t.jobs.count(query)).toMatchObject({ value: own })
        expect(await dead.group(fingerprint, tenantId)).toMatchObject({ tenantId, dead: own })
      }
    }
    const { fingerprint } = data[0]!
    await dead.discard({ fingerprint, tenantId: 'globex' })
    await t.jobs.deleteAll({ fingerprint, tenantId: 'acme' })
    // The discarded ones are dead, and no longer dead letters.
    const left = await t.jobs.count({ fingerprint, reason: 'exhausted' })
    expect([left.value, (await dead.group(fingerprint)).dead]).toEqual([3, 3])
  })

  test('the state of a group holds for tenants in which the error occurs later', async () => {
    await using t = testChronos({ jobs: [bad], store })
    const { dead } = t.chronos
    const die = async (tenantId: string): Promise<void> => {
      await t.enqueue(bad, {}, { tenantId })
      await t.drain()
      await t.advance('1s')
    }
    await die('acme')
    await die('globex')
    const { fingerprint } = (await dead.groups()).data[0]!
    expect(await dead.setGroup(fingerprint, 'ignored', 'acme')).toMatchObject({ tenantId: 'acme', state: 'ignored' })
    expect((await dead.groups()).data).toMatchObject([{ state: 'open', dead: 2 }])
    expect(await dead.setGroup(fingerprint, 'ignored')).toMatchObject({ state: 'ignored', dead: 2 })
    await die('later')
    await die('acme')
    expect(await dead.group(fingerprint)).toMatchObject({ state: 'ignored', dead: 4 })
    expect((await dead.groups()).data).toEqual([])
    await dead.setGroup(fingerprint, 'resolved')
    expect(await dead.group(fingerprint)).toMatchObject({ state: 'resolved' })
    await die('latest')
    expect((await dead.groups()).data).toMatchObject([{ state: 'regressed', dead: 5 }])
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
    expect(await t.chronos.redrives.start({ fingerprint }, options)).toMatchObject({ count: { value: 0 } })
    const other = { fingerprint, tenantId: 'other' }
    await expect(t.chronos.redrives.start(other, options)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
