import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exitOf, startProcess, temporaryFolder } from '../../support/process.js'

test('processes can open a new file at the same time', async () => {
  for (let round = 0; round < 4; round++) {
    using folder = temporaryFolder()
    const args = [`sqlite:${join(folder.path, 'jobs.db')}`, join(folder.path, 'ledger')]
    const openers = await Promise.all(Array.from({ length: 4 }, () => startProcess('store/sqlite/opener.js', args)))
    for (const opener of openers) expect(await exitOf(opener)).toEqual({ code: 0, signal: null })
  }
})
