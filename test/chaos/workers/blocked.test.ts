import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createChronos } from '../../../src/index.js'
import { exitOf, message, startProcess, temporaryFolder } from '../../support/process.js'

test('a worker whose event loop is blocked for three leases keeps its jobs', async () => {
  using folder = temporaryFolder()
  const store = `sqlite:${join(folder.path, 'jobs.db')}`
  const ledger = join(folder.path, 'ledger')
  const chronos = createChronos({ store, log: false })
  const beside = await chronos.enqueue('least', { behaviour: 'slow' })
  const { id } = await chronos.enqueue('least', { behaviour: 'blocking' })
  const blocked = await startProcess('chaos/workers/worker.js', [store, ledger])
  await message(blocked, 'started')
  // The other worker's sweeper would take the job if its lease expired.
  const other = await startProcess('chaos/workers/worker.js', [store, ledger])
  blocked.kill('SIGTERM')
  expect(await exitOf(blocked)).toEqual({ code: 0, signal: null })
  other.kill('SIGTERM')
  await exitOf(other)
  for (const job of [id, beside.id]) {
    expect(await chronos.jobs.get(job)).toMatchObject({ state: 'succeeded', attempt: 1 })
    expect((await chronos.jobs.history(job)).data).toHaveLength(1)
  }
  await chronos.close()
})
