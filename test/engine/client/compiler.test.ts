import { describe, expect, it } from 'vitest'
import type { WebhookMessage } from '../../../src/index.js'
import { defineJob } from '../../../src/index.js'
import { testChronos } from '../../../src/testing.js'

const charge = defineJob({
  name: 'charge',
  run: async (order: { readonly cents: number }, job) =>
    order.cents > 5 ? job.snooze('1s') : { receipt: `R-${order.cents}` },
})
const nightly = defineJob({ name: 'nightly', run: () => 'done' })

describe('the compiler', () => {
  it('knows the result of a job by its definition', async () => {
    await using t = testChronos({ jobs: [charge, nightly] })
    const { id } = await t.enqueue(charge, { cents: 5 })
    await t.drain()
    const job = await t.jobs.get(charge, id)
    const receipt: string | undefined = job?.result?.receipt
    expect(receipt).toBe('R-5')
    // @ts-expect-error the result has no such field
    void job?.result?.amount
    await expect(t.jobs.get(nightly, id)).rejects.toThrow(`job ${id} is a "charge", not a "nightly"`)
    expect(await t.jobs.get(charge, '01890000-0000-7000-8000-000000000000')).toBeUndefined()
  })

  it('knows the reasons of death and the outcomes of runs', async () => {
    await using t = testChronos({ jobs: [charge] })
    const { id } = await t.enqueue(charge, { cents: 5 })
    await t.drain()
    const job = await t.jobs.get(id)
    const [run] = (await t.jobs.history(id)).data
    // @ts-expect-error there is no such reason
    expect(job?.reason === 'tired').toBe(false)
    // @ts-expect-error there is no such outcome
    expect(run?.status === 'done').toBe(false)
  })

  it('refuses a schedule without the payload of its job', async () => {
    await using t = testChronos({ jobs: [charge, nightly] })
    const { schedules } = t.chronos
    await schedules.put('nightly', { cron: '0 3 * * *', job: nightly })
    await schedules.put('charge', { cron: '0 3 * * *', job: charge, payload: { cents: 5 } })
    await schedules.put('by-name', { cron: '0 3 * * *', job: 'anything' })
    await schedules.put('call', { cron: '0 3 * * *', http: { url: 'https://shop.example/' } })
    // @ts-expect-error the payload is missing
    await schedules.put('missing', { cron: '0 3 * * *', job: charge })
    // @ts-expect-error the payload is another one
    await schedules.put('wrong', { cron: '0 3 * * *', job: charge, payload: { euros: 5 } })
    expect((await schedules.list()).data).toHaveLength(6)
  })

  it('knows the data of a webhook message by its type', () => {
    const read = (message: WebhookMessage): string =>
      message.type === 'job.dead' ? `${message.data.jobId} ${message.data.reason}` : message.type
    const data = { jobId: '1', name: 'mail', queue: 'default', tags: [], state: 'dead', reason: 'exhausted' } as const
    const rest = { generation: 1, run: 1, attempt: 1, createdAt: '2026-11-16T07:08:23.120Z' }
    const message: WebhookMessage = {
      ...{ id: 'msg_1', timestamp: '2026-11-16T07:08:23.120Z', sentAt: new Date(0) },
      ...{ type: 'job.dead', data: { ...data, ...rest } },
    }
    expect(read(message)).toBe('1 exhausted')
  })
})
