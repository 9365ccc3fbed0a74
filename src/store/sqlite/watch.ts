import { type FSWatcher, watch as watchDirectory } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock } from '../../core/clock.js'
import type { StoreFile } from './file.js'

/**
 * Calls back when another connection has committed something. Every commit appends to the -wal file; the directory is
 * watched because that file comes and goes. `data_version` changes with the commits of others only, so that the writes
 * of this process wake nobody. Where watching does not work nothing is called: everybody polls now and then anyway.
 */
export function watch(file: StoreFile, clock: Clock, onChange: () => void): () => void {
  const wal = `${basename(file.path)}-wal`
  let seen = dataVersion(file)
  let looking = false
  let stopped = false

  function look(): void {
    looking = false
    if (stopped) return
    const version = dataVersion(file)
    if (version !== undefined && version === seen) return
    seen = version
    onChange()
  }

  const watcher = quietly(() => watchDirectory(dirname(file.path), { persistent: false }))
  watcher?.on('error', () => watcher.close())
  watcher?.on('change', (_event, name) => {
    // A commit is many writes: they are one look.
    if (looking || name?.toString() !== wal) return
    looking = true
    clock.soon(look)
  })
  return () => {
    stopped = true
    watcher?.close()
  }
}

/** Undefined where it can't be told: then every change may be one of others. */
function dataVersion(file: StoreFile): number | undefined {
  try {
    return file.connection?.get<[number]>('PRAGMA data_version')?.[0]
  } catch {
    return undefined
  }
}

function quietly(open: () => FSWatcher): FSWatcher | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}
