import { setTimeout } from 'node:timers/promises'

/** Lets real time pass: between two faults, or between two looks at the database. */
export async function pause(ms: number): Promise<void> {
  await setTimeout(ms)
}
