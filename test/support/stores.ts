import type { Clock } from '../../src/core/values/clock.js'
import { seededDice } from '../../src/engine/time/virtual.js'
import { memoryStore } from '../../src/store/memory.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'
import type { Store } from '../../src/store/store.js'
import { PREPARED } from './prepared.js'

/** The stores on which engine tests run, by name: each makes a new store for a clock. */
export const STORES: readonly (readonly [name: string, open: (clock: Clock) => Store])[] = [
  ['memory', clock => memoryStore({ clock })],
  ['SQLite', clock => sqliteStore({ path: ':memory:', clock, dice: seededDice(1), driver: PREPARED })],
]
