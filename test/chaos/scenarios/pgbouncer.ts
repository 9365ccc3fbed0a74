import { PgBouncer, pgbouncerMissing } from '../../support/pgbouncer.js'
import { LOAD } from '../fleet.js'
import { pause } from '../pause.js'
import { onPostgres } from '../places.js'
import { type Scenario, underLoad } from '../scenario.js'

const UNDER_LOAD_MS = 2_000

export const behindPgBouncer: Scenario = {
  name: 'behind PgBouncer',
  about: 'Every process reaches PostgreSQL through PgBouncer in transaction mode, which is killed and started again.',
  slice: { restarts: 1 },
  full: { restarts: 30 },
  unavailable: pgbouncerMissing,
  coverage: ({ restarts = 0 }) => ({ 'restarts of PgBouncer': restarts, 'jobs acknowledged': restarts * 10 }),
  run: ({ restarts = 0 }, verdict) =>
    onPostgres(async (place, server) => {
      const bouncer = await PgBouncer.start(server.url, place.folder, 'transaction')
      try {
        await underLoad({ ...place, store: bouncer.url }, LOAD, verdict, async () => {
          for (let count = 0; count < restarts; count++) {
            await pause(UNDER_LOAD_MS)
            await bouncer.end()
            await bouncer.start()
            verdict.count('restarts of PgBouncer')
          }
          await pause(UNDER_LOAD_MS)
        })
      } finally {
        await bouncer.end()
      }
    }),
}
