import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { exitOf, message, startProcess, temporaryFolder } from '../../support/process.js'

async function withRunningJob(behaviour: string, grace: string, name = 'least') {
  const folder = temporaryFolder()
  const store = `sqlite:${join(folder.path, 'jobs.db')}`
  const chronos = createChronos({ store, log: false })
  const { id } = await chronos.enqueue(name, { behaviour })
  const worker = await startProcess('chaos/workers/worker.js', [store, join(folder.path, 'ledger'), grace])
  await message(worker, 'started')
  return { chronos, id, worker, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: a running job is released without using an attempt, and the exit is clean',
  async signal => {
    using setup = await withRunningJob('endless', '0s')
    setup.worker.kill(signal)
    expect(await exitOf(setup.worker)).toEqual({ code: 0, signal: null })
    expect(await setup.chronos.jobs.get(setup.id)).toMatchObject({ state: 'waiting', attempt: 0 })
    const { data } = await setup.chronos.jobs.history(setup.id)
    expect(data.map(attempt => attempt.status)).toEqual(['released'])
    await setup.chronos.close()
  },
)

test('SIGTERM: a running job that ends within the grace has succeeded', async () => {
  using setup = await withRunningJob('slow', '20s')
  setup.worker.kill('SIGTERM')
  expect(await exitOf(setup.worker)).toEqual({ code: 0, signal: null })
  expect(await setup.chronos.jobs.get(setup.id)).toMatchObject({ state: 'succeeded' })
  await setup.chronos.close()
})

test('SIGTERM: an at-most-once job that has begun ends as unknown-outcome', async () => {
  using setup = await withRunningJob('endless', '0s', 'most')
  setup.worker.kill('SIGTERM')
  expect(await exitOf(setup.worker)).toEqual({ code: 0, signal: null })
  expect(await setup.chronos.jobs.get(setup.id)).toMatchObject({ state: 'dead', reason: 'unknown-outcome' })
  await setup.chronos.close()
})

test('a second signal exits at once', async () => {
  using setup = await withRunningJob('deaf', '60s')
  setup.worker.kill('SIGTERM')
  setup.worker.kill('SIGINT')
  expect(await exitOf(setup.worker)).toEqual({ code: 1, signal: null })
  await setup.chronos.close()
})
