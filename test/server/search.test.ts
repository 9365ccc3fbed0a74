import { expect, it, vi } from 'vitest'
import { startServer } from './server.js'

it('counts what a search for a text has found, without searching again', async () => {
  await using t = await startServer({ maintenance: false })
  for (const n of [1, 2, 3]) await t.chronos.enqueue('mail', { order: `A-${n}` }, { delay: '1h' })
  await t.chronos.enqueue('mail', { order: 'B-1' }, { delay: '1h' })
  const count = vi.spyOn(t.chronos.byId, 'count')
  const found = async (query: string): Promise<unknown> => (await t.api('GET', `/jobs?${query}`)).body
  expect(await found('q=A-')).toMatchObject({
    count: { value: 3, relation: 'exact' },
    searched: { newest: 4, complete: true },
  })
  expect(count).not.toHaveBeenCalled()
  // A full page may not be all, and another filter has no search to learn from.
  expect(await found('q=A-&limit=2')).toMatchObject({ count: { value: 3, relation: 'exact' } })
  expect(await found('name=mail')).toMatchObject({ count: { value: 4, relation: 'exact' } })
  expect(count).toHaveBeenCalledTimes(2)
})
