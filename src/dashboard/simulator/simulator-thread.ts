import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { Answer, Trial } from './simulation.js'

const NO_THREAD =
  'The browser refused to start a worker thread for the simulator. Use "chronos policy simulate" in a terminal instead.'

/** Sends one request at a time to the thread. While one is in progress, only the latest waiting request is kept. */
class Desk {
  readonly answer = signal<Answer | undefined>(undefined)
  readonly isBusy = signal(false)
  #thread: Worker | undefined
  #waiting: readonly Trial[] | undefined
  #id = 0

  open(): void {
    try {
      this.#thread = new Worker(new URL('./simulation-thread.ts', import.meta.url), { type: 'module' })
      this.#thread.onmessage = ({ data }: MessageEvent<{ readonly id: number; readonly answer: Answer }>) =>
        this.#hear(data)
      this.#thread.onerror = () => this.#without()
    } catch {
      this.#without()
    }
  }

  ask(trials: readonly Trial[]): void {
    this.#waiting = trials
    if (!this.isBusy.peek()) this.#next()
  }

  close(): void {
    this.#thread?.terminate()
    this.#thread = undefined
  }

  #next(): void {
    const trials = this.#waiting
    if (trials === undefined) return
    this.#waiting = undefined
    if (!this.#thread) return
    this.isBusy.value = true
    this.#id++
    this.#thread.postMessage({ id: this.#id, trials })
  }

  #hear({ id, answer }: { readonly id: number; readonly answer: Answer }): void {
    if (id !== this.#id) return
    this.isBusy.value = false
    this.answer.value = answer
    this.#next()
  }

  #without(): void {
    this.close()
    this.isBusy.value = false
    this.answer.value = { problem: NO_THREAD }
  }
}

/** The last result, and whether a newer one is being computed. */
export function useSimulation(trials: readonly Trial[], key: string): { answer: Answer | undefined; isBusy: boolean } {
  const desk = useMemo(() => new Desk(), [])
  useEffect(() => {
    desk.open()
    return () => desk.close()
  }, [desk])
  useEffect(() => {
    // While the fields are invalid, the last result stays.
    if (trials.length > 0) desk.ask(trials)
  }, [desk, key])
  return { answer: desk.answer.value, isBusy: desk.isBusy.value }
}
