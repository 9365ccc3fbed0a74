import type { Fleet } from '../fleet.js'
import { pause } from '../pause.js'
import { onPostgres, onSqlite } from '../places.js'
import { type Scenario, type Size, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const FROZEN_MS = 3_000
const BETWEEN_MS = 400
const LOAD = { workers: 4 }

const common = {
  slice: { kills: 6, freezes: 2 },
  full: { kills: 500, freezes: 100 },
  coverage: ({ kills = 0, freezes = 0 }: Size) => ({
    'processes killed': kills,
    'workers frozen': freezes,
    'runs lost': Math.ceil(kills / 4),
    'results of lost runs refused': Math.floor(freezes / 4),
    'at-most-once jobs with an unknown outcome': kills >= 100 ? 20 : 0,
    'effects remembered': Math.ceil(kills / 4),
    'jobs redriven': Math.floor(kills / 100),
    'openings of circuits': kills >= 100 ? 1 : 0,
    'jobs completed by pull workers': Math.ceil(kills / 5),
    'runs of pull workers lost': Math.floor(kills / 50),
    'jobs of tenants': kills,
    'occurrences of a schedule': Math.ceil(kills / 4),
    'webhook messages received': Math.ceil(kills / 5),
  }),
}

/** Kills and freezes members of the fleet in turn. */
export async function killAndFreeze(
  fleet: Fleet,
  { kills = 0, freezes = 0 }: Size,
  verdict: Verdict,
  isHit?: (pid: number) => boolean,
): Promise<void> {
  let frozen = 0
  for (let killed = 0; killed < kills || frozen < freezes; ) {
    await pause(Math.random() * 2 * BETWEEN_MS)
    const isFreeze = frozen * kills < killed * freezes || killed === kills
    if (isFreeze && (await fleet.freeze(FROZEN_MS + Math.random() * FROZEN_MS))) {
      frozen++
      verdict.count('workers frozen')
    }
    if (killed < kills && (await fleet.kill(isHit))) {
      killed++
      verdict.count('processes killed')
    }
  }
}

export const killsOnSqlite: Scenario = {
  name: 'kills and freezes on SQLite',
  about: 'Workers, servers and pull workers are killed with kill -9 or frozen with SIGSTOP, with every feature in use.',
  ...common,
  run: (size, verdict) =>
    onSqlite(place => underLoad(place, LOAD, verdict, fleet => killAndFreeze(fleet, size, verdict))),
}

export const killsOnPostgres: Scenario = {
  name: 'kills and freezes on PostgreSQL',
  about: killsOnSqlite.about,
  ...common,
  run: (size, verdict) =>
    onPostgres(place => underLoad(place, LOAD, verdict, fleet => killAndFreeze(fleet, size, verdict))),
}
