import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { Clock } from '../../../src/core/values/clock.js'
import { systemClock, systemDice } from '../../../src/engine/time/system.js'
import { type Database, type Driver, loadDriver } from '../../../src/store/sqlite/file/driver.js'
import { sqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'

/** A directory for the files of one test. It closes the stores and connections that it opened, and removes the files. */
export class Folder {
  path = ''
  readonly #open: { close(): void | Promise<void> }[] = []

  constructor() {
    beforeEach(() => {
      this.path = mkdtempSync(join(tmpdir(), 'chronos-'))
    })
    afterEach(async () => {
      for (const one of this.#open.splice(0)) await one.close()
      rmSync(this.path, { recursive: true, force: true })
    })
  }

  file(name = 'chronos.db'): string {
    return join(this.path, name)
  }

  store(given: { path?: string; clock?: Clock; driver?: Driver } = {}): Store {
    const { path = this.file(), clock = systemClock, driver } = given
    const store = sqliteStore({ path, clock, dice: systemDice, ...(driver && { driver }) })
    this.#open.push(store)
    return store
  }

  /** A connection of another process. */
  async database(path = this.file()): Promise<Database> {
    const database = (await loadDriver()).open(path)
    this.#open.push({ close: () => quietly(() => database.close()) })
    return database
  }
}

export function quietly(act: () => void): void {
  try {
    act()
  } catch {
    // The cleanup was already done.
  }
}

/** Runs all callbacks that are ready, several times. */
export async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** Whether a small file system can be mounted, to fill it up or make it read-only. */
export const canMount = attempt(() => {
  const directory = mkdtempSync(join(tmpdir(), 'chronos-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory], { stdio: 'ignore' })
    execFileSync('umount', [directory], { stdio: 'ignore' })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

function attempt(act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}
