import type { Scenario } from './scenario.js'
import { killsOnPostgres, killsOnSqlite } from './scenarios/kills.js'

/** Everything that `npm run chaos` does, in this order. */
export const SCENARIOS: readonly Scenario[] = [killsOnSqlite, killsOnPostgres]
