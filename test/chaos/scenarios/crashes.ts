import type { PostgresServer } from '../../support/postgres-server.js'
import { LOAD } from '../fleet.js'
import { pause } from '../pause.js'
import { onPostgres } from '../places.js'
import { type Scenario, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const UNDER_LOAD_MS = 1_500

/** Kills the server under load and starts it again. */
export async function crash(server: PostgresServer, crashes: number, verdict: Verdict): Promise<void> {
  for (let count = 0; count < crashes; count++) {
    await pause(UNDER_LOAD_MS * (0.5 + Math.random()))
    await server.kill()
    await server.start()
    verdict.count('server crashes')
  }
}

export const serverCrashes: Scenario = {
  name: 'crashes of PostgreSQL',
  about: 'The PostgreSQL server is killed with kill -9 and started again, with every feature in use.',
  slice: { crashes: 2 },
  full: { crashes: 100 },
  coverage: ({ crashes = 0 }) => ({
    'server crashes': crashes,
    'jobs acknowledged': crashes * 10,
  }),
  run: ({ crashes = 0 }, verdict) =>
    onPostgres((place, server) => underLoad(place, LOAD, verdict, () => crash(server, crashes, verdict))),
}
