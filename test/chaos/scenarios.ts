import { largeBodies } from './limits/bodies.js'
import { manyNamesOnPostgres, manyNamesOnSqlite } from './limits/names.js'
import { slowClients } from './limits/slow-clients.js'
import { manyStreams } from './limits/streams.js'
import { limitsOnPostgres, limitsOnSqlite } from './partitions/kills.js'
import { ratesOnPostgres, ratesOnSqlite } from './partitions/rates.js'
import type { Scenario } from './scenario.js'
import { clocksOnPostgres, clocksOnSqlite } from './scenarios/clocks.js'
import { serverCrashes } from './scenarios/crashes.js'
import { diskFullOnPostgres, diskFullOnSqlite } from './scenarios/disk-full.js'
import { asynchronousFailovers, synchronousFailovers } from './scenarios/failovers.js'
import { killsOnPostgres, killsOnSqlite } from './scenarios/kills.js'
import { lostCommits } from './scenarios/lost-commits.js'
import { behindPgBouncer } from './scenarios/pgbouncer.js'
import { poison } from './scenarios/poison.js'
import { soakOnPostgres, soakOnSqlite } from './scenarios/soak.js'
import { migrationsOnPostgres, migrationsOnSqlite, sideBySide } from './scenarios/upgrades.js'

/** Everything that `npm run chaos` does, in this order. */
export const SCENARIOS: readonly Scenario[] = [
  killsOnSqlite,
  killsOnPostgres,
  limitsOnSqlite,
  limitsOnPostgres,
  ratesOnSqlite,
  ratesOnPostgres,
  serverCrashes,
  lostCommits,
  synchronousFailovers,
  asynchronousFailovers,
  behindPgBouncer,
  diskFullOnSqlite,
  diskFullOnPostgres,
  clocksOnSqlite,
  clocksOnPostgres,
  poison,
  sideBySide,
  migrationsOnSqlite,
  migrationsOnPostgres,
  soakOnSqlite,
  soakOnPostgres,
  manyNamesOnSqlite,
  manyNamesOnPostgres,
  manyStreams,
  slowClients,
  largeBodies,
]
