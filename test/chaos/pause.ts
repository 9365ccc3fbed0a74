import { setTimeout } from 'node:timers/promises'

/** Lets real time pass: between two faults, or between two looks at the database. */
export async function pause(ms: number): Promise<void> {
  await setTimeout(ms)
}

/** Repeats a call while the store is away. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (tries === 100) throw error
      await pause(200)
    }
  }
}
