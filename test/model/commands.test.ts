import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/core/values/clock.js'
import { seededDice } from '../../src/engine/time/virtual.js'
import { memoryStore } from '../../src/store/memory.js'
import { sqliteStore } from '../../src/store/sqlite/store.js'
import type { Store } from '../../src/store/store.js'
import { type Command, commandsFrom, compareRuns, type Reference, type Subject } from './commands.js'
import { StoreModel } from './model.js'

// The same commands in every run; `CHRONOS_MODEL_SEED` and `CHRONOS_MODEL_RUNS` choose others, and more of them.
const { CHRONOS_MODEL_SEED = '1', CHRONOS_MODEL_RUNS = '500' } = process.env
const START_AT = Date.UTC(2026, 0, 1)
const COMMANDS_MAX = 60

const STORES: readonly (readonly [name: string, open: (clock: Clock) => Store])[] = [
  ['memory', clock => memoryStore({ clock })],
  ['SQLite', clock => sqliteStore({ path: ':memory:', clock, dice: seededDice(1) })],
]

/** Time stands still between the commands, and no command waits for it. */
function stillClock(time: { ms: number }): Clock {
  return {
    now: () => time.ms,
    soon: run => queueMicrotask(run),
    timer: () => {
      throw new Error('a store has no reason to wait here')
    },
  }
}

async function compare(open: (clock: Clock) => Store, commands: Iterable<Command>): Promise<void> {
  const clock = { ms: START_AT }
  const subject: Subject = { store: open(stillClock(clock)), clock }
  const reference: Reference = { model: new StoreModel(), sent: [], claims: [], leases: [], count: 0 }
  await subject.store.migrate()
  try {
    await fc.asyncModelRun(() => ({ model: reference, real: subject }), commands)
    await compareRuns(reference, subject)
  } finally {
    await subject.store.close()
  }
}

describe('a store and the reference model', () => {
  it.each(STORES)('agree after every command: %s', { timeout: 600_000 }, async (_, open) => {
    const commands = fc.commands(commandsFrom(START_AT), { maxCommands: COMMANDS_MAX, size: 'max' })
    const property = fc.asyncProperty(commands, each => compare(open, each))
    const runs = { numRuns: Number(CHRONOS_MODEL_RUNS), seed: Number(CHRONOS_MODEL_SEED) }
    const details = await fc.check(property, runs)
    expect(details.failed, fc.defaultReportMessage(details)).toBe(false)
    expect(details.numRuns).toBe(runs.numRuns)
  })
})
