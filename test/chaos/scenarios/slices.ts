import { join } from 'node:path'
import { mountMissing, SmallDisk } from '../../support/small-disk.js'
import { Cluster } from '../cluster.js'
import { LOAD } from '../fleet.js'
import { inFolder } from '../places.js'
import { type Scenario, underLoad } from '../scenario.js'
import { clockAt, setClocks } from './clocks.js'
import { crash } from './crashes.js'
import { fillAgain, SQLITE_MEGABYTES } from './disk-full.js'
import { failOver } from './failovers.js'
import { killAndFreeze } from './kills.js'
import { loseAnswers } from './lost-commits.js'

// For `npm test`: a few of each fault, one kind after another, on one fleet per store.

const KILLS = { kills: 4, freezes: 1 }

export const sliceOnSqlite: Scenario = {
  name: 'a slice of every fault on SQLite',
  about: 'Processes are killed and frozen, the clock is set, and the disk is filled up.',
  slice: { settings: 1, times: 1 },
  full: { settings: 1, times: 1 },
  coverage: () => ({ 'processes killed': KILLS.kills, 'workers frozen': KILLS.freezes, 'times a clock was set': 1 }),
  run: (size, verdict) =>
    inFolder(async place => {
      const disk = mountMissing() === undefined ? SmallDisk.mount(SQLITE_MEGABYTES) : undefined
      let offsetMs = 0
      try {
        const run = { ...place, store: `sqlite:${join(disk?.path ?? place.folder, 'jobs.db')}` }
        await underLoad(run, { ...LOAD, flags: () => clockAt(offsetMs) }, verdict, async fleet => {
          await killAndFreeze(fleet, KILLS, verdict)
          await setClocks(fleet, size, verdict, async ms => {
            offsetMs = ms
            await fleet.tell(`clock ${ms}`)
          })
          if (disk) await fillAgain({ disk, ledger: place.ledger }, size, verdict, async () => undefined)
        })
      } finally {
        disk?.unmount()
      }
    }),
}

export const sliceOnPostgres: Scenario = {
  name: 'a slice of every fault on PostgreSQL',
  about: 'Processes are killed and frozen, the server crashes, COMMIT answers are lost, and a standby takes over.',
  slice: { crashes: 1, answers: 3, failovers: 1 },
  full: { crashes: 1, answers: 3, failovers: 1 },
  coverage: ({ crashes = 0, answers = 0, failovers = 0 }) => ({
    'processes killed': KILLS.kills,
    'workers frozen': KILLS.freezes,
    'server crashes': crashes,
    'COMMIT answers lost': answers,
    failovers,
  }),
  run: ({ crashes = 0, answers = 0, failovers = 0 }, verdict) =>
    inFolder(async place => {
      const cluster = await Cluster.start('synchronous')
      try {
        await underLoad({ ...place, store: cluster.url }, LOAD, verdict, async fleet => {
          await killAndFreeze(fleet, KILLS, verdict)
          await crash(cluster.primary, crashes, verdict)
          await loseAnswers(cluster.line, answers, verdict)
          await failOver(cluster, failovers, place.ledger, verdict)
        })
      } finally {
        await cluster.stop()
      }
    }),
}
