import { afterAll, describe, expect, it } from 'vitest'
import { dropSchemas, openStore } from '../../../support/postgres.js'

afterAll(dropSchemas)

describe('the check of LISTEN', () => {
  it.each([
    ['is `heard` over a direct connection', {}, 'heard'],
    ['is `off` if LISTEN is turned off', { listenUrl: false }, 'off'],
    [
      'is `deaf` if the address to listen on does not exist',
      { listenUrl: 'postgres://missing@127.0.0.1:1/none' },
      'deaf',
    ],
  ] as const)('%s', async (_, options, result) => {
    const store = await openStore(options)
    await store.migrate()
    expect(await store.listenCheck()).toBe(result)
    await store.close()
  })
})
