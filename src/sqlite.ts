import { systemClock, systemDice } from './engine/time/system.js'
import { sqliteStore } from './store/sqlite/store.js'
import type { Store } from './store/store.js'

export type { Store } from './store/store.js'

/** A store in one SQLite file: `createChronos({ store: sqlite('./chronos.db') })`. */
export function sqlite(path: string): Store {
  return sqliteStore({ path, clock: systemClock, dice: systemDice })
}
