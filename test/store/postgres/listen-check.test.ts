import { afterAll, describe, expect, it } from 'vitest'
import { dropSchemas, openStore } from '../../support/postgres.js'

afterAll(dropSchemas)

describe('hearing', () => {
  it.each([
    ['is heard over a direct connection', {}, 'heard'],
    ['is off where nobody is to listen', { listenUrl: false }, 'off'],
    [
      'is deaf where the address to listen at leads nowhere',
      { listenUrl: 'postgres://nobody@127.0.0.1:1/none' },
      'deaf',
    ],
  ] as const)('%s', async (_, options, hearing) => {
    const store = await openStore(options)
    await store.migrate()
    expect(await store.hearing()).toBe(hearing)
    await store.close()
  })
})
