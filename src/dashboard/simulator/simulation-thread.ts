import { type Trial, tryOut } from './simulation.js'

/** Runs beside the page, so that a slider stays as fast as the hand: a herd of 100,000 takes a second. */
globalThis.addEventListener(
  'message',
  (event: MessageEvent<{ readonly id: number; readonly trials: readonly Trial[] }>) => {
    const { id, trials } = event.data
    globalThis.postMessage({ id, answer: tryOut(trials) })
  },
)
