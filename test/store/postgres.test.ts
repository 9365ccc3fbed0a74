import * as vitest from 'vitest'
import { dropSchemas, openStoreAt, sql } from '../support/postgres.js'
import { conformance } from './conformance/index.js'

vitest.afterAll(dropSchemas)

let schema: string

conformance(
  vitest,
  'PostgreSQL',
  clock =>
    openStoreAt(clock, name => {
      schema = name
    }),
  async (text, ...ids) => {
    let place = 0
    await sql(
      text.replaceAll('@', `${schema}.`).replaceAll('?', () => `$${++place}::uuid`),
      [...ids],
    )
  },
)
