import { afterAll, expect, it } from 'vitest'
import { dropSchemas, freshSchema, openStore, postgresUrl, sql } from '../../../support/postgres.js'
import { job, request, settlement } from '../bench.js'

afterAll(dropSchemas)

/** The first version of PostgreSQL that knows languages without those of the operating system. */
const BUILT_IN = 170_000

it('a search in errors depends on no locale of the database', async context => {
  const [server] = await sql<{ version: string }>(`SELECT current_setting('server_version_num') AS version`)
  context.skip(Number(server!.version) < BUILT_IN, 'not run: this server has no built-in locale')
  const name = freshSchema()
  await sql(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER builtin
    BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'`)
  const url = new URL(await postgresUrl())
  url.pathname = `/${name}`
  const store = await openStore({ url: url.href })
  await store.migrate()
  await store.enqueue([job()])
  const { jobs } = await store.claim(request())
  const failed = settlement(jobs[0]!, 'failed')
  await store.settle([{ ...failed, end: { ...failed.end, error: { name: 'Error', message: 'Échec de Ça' } } as never }])
  for (const error of ['Échec', 'échec', 'de Ça']) {
    const { data } = await store.list({ error }, { limit: 5 })
    expect([error, data.length]).toEqual([error, error === 'échec' ? 0 : 1])
  }
  await store.close()
  await sql(`DROP DATABASE ${name} WITH (FORCE)`)
})
