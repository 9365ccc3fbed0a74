import { type FSWatcher, watch as watchDirectory } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock, Timer } from '../../../core/values/clock.js'
import type { StoreFile } from './file.js'

/**
 * A commit becomes visible only after its flush, some time after the file event of its write, and there is no event at
 * that time. So an idle process polls at short intervals for a moment, and then at longer ones. A process that writes
 * also receives events of its own writes; it is already awake, so it checks later.
 */
const LOOK_CLOSELY_MS = 2
const LOOK_AGAIN_MS: readonly number[] = [1, 2, 4, 8, 16, 32]
const OWN_WRITES_MS = 3

/**
 * Calls back when another connection has committed. Every commit appends to the -wal file; the directory is watched
 * because that file can be removed and created again. `data_version` changes only with commits of other connections,
 * so this process does not wake itself. If watching does not work, nothing is called: workers also poll.
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
    // One commit causes many writes; they lead to one check.
    if (name?.toString() !== wal) return
    heardAt = clock.now()
    // The next scheduled check may be far away, so start over with short intervals.
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

/** Undefined if it can't be read; then every change may come from another process. */
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
