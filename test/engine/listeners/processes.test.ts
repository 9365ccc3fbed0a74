import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createChronos, defineJob, PermanentError } from '../../../src/index.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../support/postgres.js'
import { exitOf, startProcess, temporaryFolder } from '../../support/process.js'

afterAll(dropSchemas)

const refused = defineJob({
  name: 'refused',
  async run(_: null) {
    throw new PermanentError('card declined')
  },
})

describe.each([
  ['SQLite', async (folder: string) => `sqlite:${join(folder, 'chronos.db')}`],
  ['PostgreSQL', async () => `${await postgresUrl()}?schema=${freshSchema()}`],
])('a listener in another process, on %s', (_, storeIn) => {
  test('that is killed loses nothing: the next process gets what it held and what it missed', async () => {
    using folder = temporaryFolder()
    const store = await storeIn(folder.path)
    // The listener registers first, so the worker knows it before a job can die.
    const first = await startProcess('engine/listeners/listener.js', [store, 'stuck'])
    let held = 0
    const heldBoth = new Promise<void>(resolve => first.on('message', () => ++held === 2 && resolve()))
    await using chronos = createChronos({ store, log: false })
    chronos.work([refused], { signals: false, lease: '1s' })
    const die = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await chronos.enqueue(refused, null, { key })
      for (const { id } of (await chronos.jobs.list({ name: 'refused' })).data) await chronos.jobs.ended(id)
    }
    await die('a', 'b', 'c')
    await heldBoth
    first.kill('SIGKILL')
    await exitOf(first)
    await die('d')

    const heard = new Set<string>()
    const second = await startProcess('engine/listeners/listener.js', [store])
    const isComplete = new Promise<void>(resolve => {
      second.on('message', text => {
        heard.add(String(text))
        if (heard.size === 4) resolve()
      })
    })
    await isComplete
    expect([...heard].sort()).toEqual(['heard a', 'heard b', 'heard c', 'heard d'])
    second.send('stop')
    expect(await exitOf(second)).toEqual({ code: 0, signal: null })
    expect((await chronos.jobs.list({ internal: true })).data.map(({ state }) => state)).toEqual(
      Array(4).fill('succeeded'),
    )
  })
})
