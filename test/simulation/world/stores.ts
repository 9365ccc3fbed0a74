import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededDice } from '../../../src/engine/time/virtual.js'
import { memoryStore } from '../../../src/store/memory.js'
import { sqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import type { Plan } from './plan.js'
import type { Timeline } from './timeline.js'

/** The store of one seed, and how its processes connect to it. */
export interface Stores {
  /** The harness's own connection. */
  readonly main: Store
  /** A process's connection: the same one, or one of its own. */
  connect(): Store
  close(): Promise<void>
}

export function openStores(kind: Plan['store'], clock: Timeline, seed: number): Stores {
  if (kind === 'memory') return shared(memoryStore({ clock }))
  const dice = seededDice(seed)
  if (kind === 'sqlite') return shared(sqliteStore({ path: ':memory:', clock, dice }))

  const path = join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `chronos-simulation-${process.pid}-${seed}.db`)
  const opened: Store[] = []
  const connect = (): Store => {
    const store = sqliteStore({ path, clock, dice })
    opened.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of opened) await store.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  }
  return { main: connect(), connect, close }
}

function shared(store: Store): Stores {
  return { main: store, connect: () => store, close: () => store.close() }
}
