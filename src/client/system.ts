import type { Clock, Dice } from '../core/values/clock.js'

// The time and the random numbers of a runtime that may not be Node: a browser, an edge function, Deno or Bun.

export const webClock: Clock = {
  now: () => Date.now(),
  timer(ms, run) {
    const handle = setTimeout(run, ms)
    return { cancel: () => clearTimeout(handle) }
  },
  soon: run => void Promise.resolve().then(run),
}

const token = (): string => crypto.randomUUID().replaceAll('-', '')

export const webDice: Dice = {
  random: () => Math.random(),
  token,
  id: () => crypto.randomUUID(),
}
