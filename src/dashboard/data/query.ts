import { effect, type Signal, signal, untracked } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { every, later, serverNow } from './clock.js'
import { asProblem, isAbort, type Problem } from './http.js'
import { heard, isPaused, onChange, type Topic } from './live.js'

export interface QueryOptions {
  /** Events of these topics refetch it, at most once a second. */
  readonly topics?: readonly Topic[]
  /** Refetches at this interval, with or without events. */
  readonly everyMs?: number
}

/** The state of one query. A component that reads it re-renders when it changes. */
export interface QueryState<T> {
  /** The last result; it stays while a request is in flight or fails. */
  readonly data: T | undefined
  /** The error of the last request; undefined after a success. */
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  /** The data belongs to an earlier key, or the last request failed. */
  readonly isStale: boolean
  /** There is no data and the request takes long enough to show a skeleton. */
  readonly isSlow: boolean
  /** When the data arrived. */
  readonly at: number | undefined
  readonly refetch: () => void
}

const SKELETON_AFTER_MS = 150
const REFETCH_EVERY_MS = 1_000
const KEPT_MAX = 40

/** The last results, so that Back shows them at once, marked stale until they are refetched. */
const kept = new Map<string, { readonly data: unknown; readonly at: number }>()

export function forgetAnswers(): void {
  kept.clear()
}

function keep(key: string, data: unknown): void {
  kept.delete(key)
  kept.set(key, { data, at: serverNow() })
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!)
}

/** The queries on the screen whose first answer is not drawn yet. */
const unanswered = new Set<object>()

/** Whether the screen is incomplete: true from the render that first needs an answer until the answer is drawn. */
export const isFetching = signal(false)

function expectAnswer(question: object): void {
  unanswered.add(question)
  isFetching.value = true
}

/** Components render in the task in which their answer arrives, and what they ask for then is expected before this ends. */
function drawn(question: object): void {
  if (!unanswered.has(question)) return
  later(0, () => {
    unanswered.delete(question)
    isFetching.value = unanswered.size > 0
  })
}

type Facts<T> = Omit<QueryState<T>, 'refetch'>

class Question<T> {
  readonly facts: Signal<Facts<T>>
  readonly #key: string
  readonly load: { now: (signal: AbortSignal) => Promise<T> }
  #abort: AbortController | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #isDue = false
  #isAsking = false
  #forget: () => void = () => {}

  constructor(key: string, load: (signal: AbortSignal) => Promise<T>, before: Facts<T> | undefined) {
    this.#key = key
    this.load = { now: load }
    const old = kept.get(key) as { data: T; at: number } | undefined
    const data = old?.data ?? before?.data
    const at = old?.at ?? before?.at
    this.facts = signal({ data, at, problem: undefined, isLoading: true, isStale: data !== undefined, isSlow: false })
  }

  async ask(): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    this.#askedAt = serverNow()
    this.#isDue = false
    this.#isAsking = true
    this.#set({ isLoading: true })
    const forget = later(SKELETON_AFTER_MS, () => this.#set({ isSlow: true }))
    try {
      const data = await this.load.now(abort.signal)
      if (abort.signal.aborted) return
      heard()
      keep(this.#key, data)
      this.#set({ data, at: serverNow(), problem: undefined, isLoading: false, isStale: false, isSlow: false })
    } catch (error) {
      if (isAbort(error) || abort.signal.aborted) return
      const isStale = this.facts.peek().data !== undefined
      this.#set({ problem: asProblem(error), isLoading: false, isStale, isSlow: false })
    } finally {
      forget()
      if (this.#abort === abort) this.#answered()
    }
  }

  #answered(): void {
    drawn(this)
    this.#isAsking = false
    if (!this.#isDue) return
    // An event arrived while the request was in flight.
    this.#isDue = false
    this.hint()
  }

  /** Refetches now, or a second after the last request. */
  hint(): void {
    if (this.#isDue || this.#isRefused()) return
    this.#isDue = true
    const waitMs = Math.max(0, this.#askedAt + REFETCH_EVERY_MS - serverNow())
    this.#forget = later(waitMs, () => this.catchUp())
  }

  /** The same request would be refused again; another one has another key. */
  #isRefused(): boolean {
    const { problem } = this.facts.peek()
    return problem?.status === 400 || problem?.status === 422
  }

  /** Refetches if due. It stays due while a request is in flight or updates are held. */
  catchUp(): void {
    if (this.#isDue && !this.#isAsking && !isPaused.peek()) void this.ask()
  }

  stop(): void {
    this.#forget()
    this.#abort?.abort()
  }

  #set(change: Partial<Facts<T>>): void {
    this.facts.value = { ...this.facts.peek(), ...change }
  }
}

/**
 * Fetches data and keeps it up to date. `key` identifies the query. After a change of the key, the old data stays on the screen, marked stale.
 */
export function useQuery<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { topics = [], everyMs }: QueryOptions = {},
): QueryState<T> {
  const last = useMemo<{ question?: Question<T> }>(() => ({}), [])
  const question = useMemo(() => {
    const made = new Question<T>(key, load, last.question?.facts.peek())
    last.question = made
    return made
  }, [key])
  question.load.now = load
  // Before the effects below, in the task of the render: in between the screen must not seem complete.
  useLayoutEffect(() => {
    expectAnswer(question)
    return () => drawn(question)
  }, [question])
  const about = topics.join(' ')
  useEffect(() => {
    untracked(() => void question.ask())
    const stops = [
      onChange(change => {
        const isAbout = change.topics === undefined || change.topics.some(topic => about.split(' ').includes(topic))
        if (isAbout) question.hint()
      }),
      effect(() => {
        if (!isPaused.value) untracked(() => question.catchUp())
      }),
      everyMs === undefined ? () => {} : every(everyMs, () => question.hint()),
    ]
    return () => {
      for (const stop of stops) stop()
      question.stop()
    }
  }, [question, about, everyMs])
  return { ...question.facts.value, refetch: () => void question.ask() }
}
