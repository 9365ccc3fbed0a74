import { type Trial, tryOut } from './simulation.js'

/** Runs in a worker thread, because 100,000 jobs take a second and sliders must stay responsive. */
globalThis.addEventListener(
  'message',
  (event: MessageEvent<{ readonly id: number; readonly trials: readonly Trial[] }>) => {
    const { id, trials } = event.data
    globalThis.postMessage({ id, answer: tryOut(trials) })
  },
)
