import { expect, it } from 'vitest'
import { Bench } from '../conformance/bench.js'
import { Folder } from './folder.js'

const folder = new Folder()
const bench = new Bench(async () => folder.store())

it('leaves a job in a state of a newer version alone, and shows it as it is', async () => {
  const store = folder.store()
  const [strange, usual] = await store.enqueue([bench.job(), bench.job()])
  const database = await folder.database()
  // The schema of a newer version allows its states.
  database.exec('PRAGMA ignore_check_constraints = ON')
  database.exec(`UPDATE jobs SET state = 'hibernating' WHERE pk = (SELECT min(pk) FROM jobs)`)
  const { jobs } = await store.claim(bench.request({ limit: 10 }))
  expect(jobs.map(({ id }) => id)).toEqual([usual!.id])
  expect(await store.get(strange!.id)).toMatchObject({ state: 'hibernating' })
  expect((await store.list({}, { limit: 10 })).data).toHaveLength(2)
  expect(await store.prune({ olderThanMs: { succeeded: 0, dead: 0, cancelled: 0 }, keyMs: 0, limit: 10 })).toBeDefined()
  expect(await store.get(strange!.id)).toBeDefined()
  expect(await store.census({ cap: 10 })).toHaveLength(1)
})
