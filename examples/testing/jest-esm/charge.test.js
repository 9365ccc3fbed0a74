import { expect, test } from '@jest/globals'
import { testChronos } from 'chronos-jobs/testing'
import { chargeWith, pay } from './charge.js'

test('a charge is retried until the gateway answers', async () => {
  let calls = 0
  const charge = chargeWith(async () => {
    if (++calls < 3) throw new Error('the gateway is down')
    return { receipt: 'R-1' }
  })
  const t = testChronos({ jobs: [charge] })
  const { id } = await t.enqueue(charge, { orderId: 'A-17' })
  await t.drain()
  expect(await t.jobs.get(id)).toMatchObject({ state: 'succeeded', attempt: 3, result: { receipt: 'R-1' } })
  await t.close()
})

test('a receipt is enqueued only if the order is paid', async () => {
  const t = testChronos({ jobs: [] })
  const failing = t.transaction(async tx => {
    await pay(t.chronos, tx, 'A-17')
    throw new Error('rolled back')
  })
  await expect(failing).rejects.toThrow('rolled back')
  expect((await t.jobs.list({ name: 'receipt' })).data).toHaveLength(0)
  await t.transaction(tx => pay(t.chronos, tx, 'A-17'))
  expect((await t.jobs.list({ name: 'receipt' })).data).toHaveLength(1)
  await t.close()
})
