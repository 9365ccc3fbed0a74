import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresServer } from '../../support/postgres-server.js'
import { mountMissing, SmallDisk } from '../../support/small-disk.js'
import { LOAD } from '../fleet.js'
import { pause } from '../pause.js'
import { inFolder } from '../places.js'
import { type Scenario, type Size, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const UNDER_LOAD_MS = 2_000
const FULL_MIN_MS = 2_000
const FULL_MAX_MS = 20_000
export const SQLITE_MEGABYTES = 64
const POSTGRES_MEGABYTES = 512
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_wal_size: '64MB', min_wal_size: '32MB' }

const common = {
  slice: { times: 1 },
  full: { times: 20 },
  unavailable: mountMissing,
  coverage: ({ times = 0 }: Size) => ({
    'times the disk was full': times,
    'enqueues refused at first': Math.ceil(times / 2),
  }),
}

/** Keeps the disk full until a client was refused, so that every time counts. */
export async function fillAgain(
  { disk, ledger }: { readonly disk: SmallDisk; readonly ledger: string },
  { times = 0 }: Size,
  verdict: Verdict,
  onFree: () => Promise<void>,
): Promise<void> {
  for (let count = 0; count < times; count++) {
    await pause(UNDER_LOAD_MS)
    const before = refusals(ledger)
    const startedAt = performance.now()
    for (let isSeen = false; !isSeen && performance.now() - startedAt < FULL_MAX_MS; await pause(100)) {
      // What the store frees meanwhile is taken again.
      disk.fill()
      isSeen = performance.now() - startedAt > FULL_MIN_MS && refusals(ledger) > before
    }
    disk.free()
    await onFree()
    verdict.count('times the disk was full')
  }
}

function refusals(ledger: string): number {
  return readFileSync(ledger, 'utf8').split('"what":"refused"').length
}

export const diskFullOnSqlite: Scenario = {
  name: 'disk full on SQLite',
  about: 'The disk of the SQLite file is filled up under load, and space is freed again.',
  ...common,
  run: (size, verdict) =>
    inFolder(async place => {
      const disk = SmallDisk.mount(SQLITE_MEGABYTES)
      try {
        const store = `sqlite:${join(disk.path, 'jobs.db')}`
        const nothing = async (): Promise<void> => undefined
        await underLoad({ ...place, store }, LOAD, verdict, () =>
          fillAgain({ disk, ledger: place.ledger }, size, verdict, nothing),
        )
      } finally {
        disk.unmount()
      }
    }),
}

export const diskFullOnPostgres: Scenario = {
  name: 'disk full on PostgreSQL',
  about: 'The disk of the PostgreSQL server is filled up under load, and space is freed again.',
  ...common,
  run: (size, verdict) =>
    inFolder(async place => {
      const disk = SmallDisk.mount(POSTGRES_MEGABYTES)
      let server: PostgresServer | undefined
      // A server that could not write its log has ended.
      const restart = async (): Promise<void> => {
        if (server?.hasEnded) await server.start()
      }
      try {
        server = await PostgresServer.start(SETTINGS, disk.path)
        await underLoad({ ...place, store: server.url }, LOAD, verdict, () =>
          fillAgain({ disk, ledger: place.ledger }, size, verdict, restart),
        )
      } finally {
        await server?.stop()
        disk.unmount()
      }
    }),
}
