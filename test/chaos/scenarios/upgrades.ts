import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createChronos } from '../../../src/index.js'
import { exitOf } from '../../support/process.js'
import type { Place } from '../fleet.js'
import { EARLIER, historyMissing, oldBuild, PREVIOUS } from '../old-build.js'
import { onPostgres, onSqlite } from '../places.js'
import { checkIntegrity } from '../promises/integrity.js'
import { type Scenario, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'
import { killAndFreeze } from './kills.js'

const SEEDS = 50
const STATEMENTS_MAX = 500

async function run(script: string, ...args: readonly string[]): Promise<boolean> {
  const { signal } = await exitOf(fork(script, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }))
  return signal === null
}

/** Migrates a store of the schema before, and kills the process before every statement until it comes through. */
async function killMigrations({ store }: Place, every: number, verdict: Verdict): Promise<void> {
  await run(join(oldBuild(EARLIER), 'test/chaos/processes/seed.js'), store, String(SEEDS))
  const migrate = fileURLToPath(new URL('../processes/migrate.js', import.meta.url))
  let statement = 1
  while (statement < STATEMENTS_MAX && !(await run(migrate, store, String(statement)))) {
    statement += every
    verdict.count('migrations killed')
  }
  await using chronos = createChronos({ store, log: false })
  const { value } = await chronos.jobs.count({})
  verdict.count('jobs after the migrations', value)
  const text = (): string => `${value} of ${2 * SEEDS} jobs after the migration`
  verdict.expect(value === 2 * SEEDS, 'an acknowledged job is never lost', text)
  await checkIntegrity(chronos, verdict)
}

const migrations = (name: string, on: (work: (place: Place) => Promise<void>) => Promise<void>): Scenario => ({
  name: `migrations on ${name}`,
  about: 'A store of the previous schema is migrated by processes that are killed before each statement.',
  slice: { everyStatement: 8 },
  full: { everyStatement: 1 },
  unavailable: historyMissing,
  coverage: ({ everyStatement = 1 }) => ({
    'migrations killed': Math.floor(10 / everyStatement),
    'jobs after the migrations': 2 * SEEDS,
  }),
  run: ({ everyStatement = 1 }, verdict) => on(place => killMigrations(place, everyStatement, verdict)),
})

export const migrationsOnSqlite = migrations('SQLite', onSqlite)
export const migrationsOnPostgres = migrations('PostgreSQL', onPostgres)

export const sideBySide: Scenario = {
  name: 'old and new version side by side',
  about: 'Processes of an older and of this version share a PostgreSQL database, and are killed and frozen.',
  slice: { kills: 2, freezes: 0 },
  full: { kills: 100, freezes: 20 },
  unavailable: historyMissing,
  coverage: ({ kills = 0, freezes = 0 }) => ({
    'processes killed': kills,
    'workers frozen': freezes,
    'runs by the old version': kills,
  }),
  run: (size, verdict) =>
    onPostgres(async place => {
      const old = oldBuild(PREVIOUS)
      await underLoad(place, { workers: 4, pullers: 1, old }, verdict, fleet => killAndFreeze(fleet, size, verdict))
    }),
}
