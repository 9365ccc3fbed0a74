import { type Fleet, type FleetOptions, LOAD } from '../fleet.js'
import { pause } from '../pause.js'
import { onPostgres, onSqlite } from '../places.js'
import { type Scenario, type Size, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const HOUR_MS = 3_600_000
const UNDER_LOAD_MS = 2_500
/** Where the clock goes, one after another: forward, back, and to the true time. */
const OFFSETS_MS = [HOUR_MS, 0, -HOUR_MS, 10 * 60_000, 2_000, -5 * 60_000]

/** Arguments of Node for a process whose clock is wrong by so much. */
export const clockAt = (ms: number): readonly string[] => [
  '--import',
  `${new URL('../processes/clock.js', import.meta.url).href}?ms=${ms}`,
]

const common = {
  slice: { settings: 2 },
  full: { settings: 60 },
  coverage: ({ settings = 0 }: Size) => ({
    'times a clock was set': settings,
    'processes started on a set clock': Math.floor(settings / 2),
    'jobs acknowledged': settings * 5,
  }),
}

/** Sets clocks and starts processes while they are wrong: a new process trusts its clock, an old one its own past. */
export async function setClocks(
  fleet: Fleet,
  { settings = 0 }: Size,
  verdict: Verdict,
  set: (ms: number) => Promise<void>,
) {
  for (let count = 0; count < settings; count++) {
    await pause(UNDER_LOAD_MS)
    await set(OFFSETS_MS[count % OFFSETS_MS.length] ?? 0)
    fleet.note('clock')
    verdict.count('times a clock was set')
    if (await fleet.kill()) verdict.count('processes started on a set clock')
  }
  await pause(UNDER_LOAD_MS)
}

export const clocksOnSqlite: Scenario = {
  name: 'clocks on SQLite',
  about:
    'The system clock is set forward and back by up to an hour for all processes of a machine, and processes restart.',
  ...common,
  run: (size, verdict) =>
    onSqlite(async place => {
      let offsetMs = 0
      const options: FleetOptions = { ...LOAD, flags: () => clockAt(offsetMs) }
      await underLoad(place, options, verdict, fleet =>
        setClocks(fleet, size, verdict, async ms => {
          offsetMs = ms
          await fleet.tell(`clock ${ms}`)
        }),
      )
    }),
}

export const clocksOnPostgres: Scenario = {
  name: 'clocks on PostgreSQL',
  about: 'Machines with clocks up to an hour apart share a server; one clock after another is set forward and back.',
  ...common,
  run: (size, verdict) =>
    onPostgres(async place => {
      const anyMs = (): number => OFFSETS_MS[Math.floor(Math.random() * OFFSETS_MS.length)] ?? 0
      const options: FleetOptions = { ...LOAD, workers: 3, flags: () => clockAt(anyMs()) }
      await underLoad(place, options, verdict, fleet =>
        setClocks(fleet, size, verdict, async ms => {
          const workers = await fleet.workers()
          workers[Math.floor(Math.random() * workers.length)]?.send(`clock ${ms}`)
        }),
      )
    }),
}
