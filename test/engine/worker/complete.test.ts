import { describe, expect, test } from 'vitest'
import { createChronos, defineJob } from '../../../src/index.js'

describe.each(['memory:', 'sqlite::memory:'])('job.complete on %s', store => {
  test('is refused with the alternative, and the job does not count as succeeded', async () => {
    await using chronos = createChronos({ store, log: false })
    let told: unknown
    const order = defineJob({
      name: 'order',
      retry: 'none',
      run: (_: null, job) =>
        job.complete({ query: async () => ({ rows: [] }) }).catch((error: unknown) => {
          told = error
        }),
    })
    const died = new Promise<void>(resolve => chronos.on('job.dead', () => resolve()))
    chronos.work([order], { signals: false })
    const { id } = await chronos.enqueue(order, null)
    await died
    expect(told).toMatchObject({
      code: 'STORE_NOT_SUPPORTED',
      message: expect.stringContaining('instead of `job.complete`, return from the handler'),
    })
    expect(await chronos.jobs.get(id)).toMatchObject({ state: 'dead', error: { code: 'ROLLED_BACK' } })
  })
})
