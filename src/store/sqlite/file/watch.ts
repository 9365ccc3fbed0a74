import { type FSWatcher, watch as watchDirectory } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock, Timer } from '../../../core/values/clock.js'
import type { StoreFile } from './file.js'

/**
 * A commit becomes visible only after its flush, some time after the write that is heard of, and no event comes then.
 * So an idle process looks closely for a moment, and then now and then. One that writes itself hears its own writes
 * too; it is awake anyway, and only looks again later.
 */
const LOOK_CLOSELY_MS = 2
const LOOK_AGAIN_MS: readonly number[] = [1, 2, 4, 8, 16, 32]
const OWN_WRITES_MS = 3

/**
 * Calls back when another connection has committed something. Every commit appends to the -wal file; the directory is
 * watched because that file comes and goes. `data_version` changes with the commits of others only, so that the writes
 * of this process wake nobody. Where watching does not work nothing is called: everybody polls now and then anyway.
 */
export function watch(file: StoreFile, clock: Clock, onChange: () => void): () => void {
  const wal = `${basename(file.path)}-wal`
  let seen = dataVersion(file)
  let heardAt = 0
  let looking = false
  let stopped = false
  let timer: Timer | undefined

  function look(looks: number): void {
    timer = undefined
    if (stopped) return
    const version = dataVersion(file)
    const laterMs = LOOK_AGAIN_MS[looks]
    if (version === undefined || version !== seen) {
      looking = false
      seen = version
      onChange()
    } else if (clock.now() - heardAt < LOOK_CLOSELY_MS && heardAt - file.wroteAt > OWN_WRITES_MS) {
      clock.soon(() => look(0))
    } else if (laterMs !== undefined) {
      timer = clock.timer(laterMs, () => look(looks + 1))
    } else {
      looking = false
    }
  }

  const watcher = quietly(() => watchDirectory(dirname(file.path), { persistent: false }))
  watcher?.on('error', () => watcher.close())
  watcher?.on('change', (_event, name) => {
    // A commit is many writes: they are one look.
    if (name?.toString() !== wal) return
    heardAt = clock.now()
    // It may be long until the next look after the last event; this one is new.
    const again = timer !== undefined
    timer?.cancel()
    timer = undefined
    if (looking && !again) return
    looking = true
    clock.soon(() => look(0))
  })
  return () => {
    stopped = true
    timer?.cancel()
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
