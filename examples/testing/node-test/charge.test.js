import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  const job = await t.jobs.get(id)
  assert.deepEqual([job.state, job.attempt, job.result], ['succeeded', 3, { receipt: 'R-1' }])
  await t.close()
})

test('a receipt is enqueued only if the order is paid', async () => {
  const t = testChronos({ jobs: [] })
  await assert.rejects(
    t.transaction(async tx => {
      await pay(t.chronos, tx, 'A-17')
      throw new Error('rolled back')
    }),
  )
  assert.equal((await t.jobs.list({ name: 'receipt' })).data.length, 0)
  await t.transaction(tx => pay(t.chronos, tx, 'A-17'))
  assert.equal((await t.jobs.list({ name: 'receipt' })).data.length, 1)
  await t.close()
})
