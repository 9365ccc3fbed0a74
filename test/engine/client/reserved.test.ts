import { expect, test } from 'vitest'
import { defineJob } from '../../../src/engine/client/definition.js'
import { testChronos } from '../../../src/testing.js'

test('a delivery that a caller makes up is refused, new or by an edit', async () => {
  const fail = defineJob({ name: 'fail', retry: { maxRetries: 0 }, run: () => Promise.reject(new Error('no')) })
  await using t = testChronos({ jobs: [fail] })
  const payload = { messageId: 'msg_1', type: 'job.dead', endpointId: 'we_other', body: '{"forged":true}' }
  const refused = { code: 'NOT_ALLOWED', message: expect.stringContaining('"chronos:delivery" is reserved') }
  await expect(t.enqueue('chronos:delivery', payload, { queue: 'chronos:deliveries' })).rejects.toMatchObject(refused)
  const { queues } = t.chronos
  await queues.pause('chronos:deliveries')
  await t.enqueue(fail, undefined, { webhook: 'https://hooks.example/x' })
  await t.advance('1s')
  const [delivery] = (await t.jobs.list({ queue: 'chronos:deliveries' })).data
  await expect(t.jobs.edit(delivery!.id, { payload })).rejects.toMatchObject(refused)
})
