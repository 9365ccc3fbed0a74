import { describe, expect, test } from 'vitest'
import { limitsOnPostgres, limitsOnSqlite } from './partitions/kills.js'
import { ratesOnPostgres, ratesOnSqlite } from './partitions/rates.js'
import { runScenario } from './scenario.js'
import { behindPgBouncer } from './scenarios/pgbouncer.js'
import { poison } from './scenarios/poison.js'
import { sliceOnPostgres, sliceOnSqlite } from './scenarios/slices.js'

const SLICES = [
  sliceOnSqlite,
  sliceOnPostgres,
  behindPgBouncer,
  poison,
  limitsOnSqlite,
  limitsOnPostgres,
  ratesOnSqlite,
  ratesOnPostgres,
]

// `npm run chaos` does the full sizes.
describe('chaos', () => {
  test.each(SLICES)('$name: every promise is kept', async scenario => {
    const { violations, missing, notRun } = await runScenario(scenario, scenario.slice)
    if (notRun !== undefined) console.log(`${scenario.name}: not run: ${notRun}`)
    expect({ violations, missing }).toEqual({ violations: [], missing: [] })
  })
})
