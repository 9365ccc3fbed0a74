import { afterAll, describe, expect, it } from 'vitest'
import { PgBouncer, pgbouncerMissing } from '../../support/pgbouncer.js'
import { dropSchemas, freshSchema, openStore, postgresUrl } from '../../support/postgres.js'
import { temporaryFolder } from '../../support/process.js'
import { jobs, request, settlement } from './bench.js'

afterAll(dropSchemas)

describe('behind PgBouncer', () => {
  it.each(['transaction', 'session'] as const)('in %s mode, jobs are enqueued, claimed and settled', async mode => {
    const missing = pgbouncerMissing()
    if (missing !== undefined) {
      console.log(`not run: ${missing}`)
      expect(missing).toBe('pgbouncer is not installed')
      return
    }
    using folder = temporaryFolder()
    const bouncer = await PgBouncer.start(await postgresUrl(), folder.path, mode)
    const store = await openStore({ url: bouncer.url, schema: freshSchema(), listenUrl: await postgresUrl() })
    await store.migrate()
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 8 }, () => store.enqueue(jobs(1))))
    }
    const { jobs: held } = await store.claim(request({ limit: 24 }))
    const settled = await store.settle(held.map(one => settlement(one, 'succeeded')))
    expect(settled.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 'settled'))
    await store.close()
    await bouncer.end()
  })
})
