import { systemClock } from '../../../../src/engine/time/system.js'
import { seededDice } from '../../../../src/engine/time/virtual.js'
import { defineJob, exponential, PermanentError } from '../../../../src/index.js'
import { sqliteStore } from '../../../../src/store/sqlite/store.js'
import { testChronos } from '../../../../src/testing.js'
import { HOSTILE } from '../../lives.js'

export interface DeadLetters {
  /** Twelve jobs with the same error in the queue `mail`, with the unique values `mail 0` to `mail 11`. */
  readonly mails: readonly string[]
  /** Three jobs with another error, whose definition sets the fingerprint. */
  readonly syncs: readonly string[]
  /** An at-most-once job with an unknown outcome. */
  readonly unknown: string
  /** A job that is not dead. */
  readonly succeeded: string
}

export const WAREHOUSE = 'warehouse-down'

const retry = exponential({ base: '1m', jitter: 'none', maxRetries: 2 })

/** A file with jobs that died within the last hours. */
export async function die(path: string): Promise<DeadLetters> {
  const mail = defineJob({
    name: 'send-email',
    queue: 'mail',
    retry,
    run({ to }: { to: string }) {
      throw new PermanentError(`the mailbox of "${to}" does not exist`)
    },
  })
  const sync = defineJob({
    name: 'sync-inventory',
    fingerprint: WAREHOUSE,
    retry,
    run() {
      throw Object.assign(new Error(`the warehouse answered ${HOSTILE}`), { status: 502 })
    },
  })
  const pay = defineJob({
    name: 'pay-out',
    queue: 'payments',
    delivery: 'at-most-once',
    timeout: '1s',
    run: () => chronos.clock.wait('1d'),
  })
  const fine = defineJob({ name: 'fine', run: () => 'fine' })
  const chronos = testChronos({
    jobs: [mail, sync, pay, fine],
    startAt: new Date(systemClock.now() - 5 * 3_600_000),
    store: clock => sqliteStore({ path, clock, dice: seededDice(7) }),
  })
  try {
    const mails: string[] = []
    for (let n = 0; n < 12; n++)
      mails.push((await chronos.enqueue(mail, { to: `user${n}` }, { unique: `mail ${n}` })).id)
    await chronos.advance('1h')
    const syncs: string[] = []
    for (let n = 0; n < 3; n++) syncs.push((await chronos.enqueue(sync, undefined)).id)
    const unknown = (await chronos.enqueue(pay, undefined)).id
    const succeeded = (await chronos.enqueue(fine, undefined)).id
    // The handler of `pay` hangs, and virtual time stands still while a handler runs.
    await chronos.advance('3h', { despite: 'handlers' })
    return { mails, syncs, unknown, succeeded }
  } finally {
    await chronos.close()
  }
}
