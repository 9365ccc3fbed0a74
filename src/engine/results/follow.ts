import { type Job, TERMINAL } from '../../core/job/job.js'
import { noJob } from '../../core/job/result.js'
import { type AttemptView, type JobView, viewAttempt } from '../../core/job/view.js'
import type { Timer } from '../../core/values/clock.js'
import { about, type Infer, inCode, read, text } from '../../core/values/schema.js'
import { object } from '../../core/values/shape.js'
import type { AttemptRecord, LogRecord, Store } from '../../store/store.js'
import type { Environment } from '../client/environment.js'
import { type LogView, viewLog } from '../jobs/log-view.js'
import { type FollowPosition, hasSeenEnd, readPosition, START, writePosition } from './position.js'
import { isSignal } from './waiters.js'

export const FOLLOW_CURSOR_MAX = 1_024

const followOptions = object(
  {},
  {
    cursor: about(text(FOLLOW_CURSOR_MAX), 'The `cursor` of the last update that was received: continues after it.'),
    signal: about(inCode<AbortSignal>('an AbortSignal', isSignal), 'Ends the stream, with the reason of the signal.'),
  },
)
export type FollowOptions = Infer<typeof followOptions>

/** What has happened to a job. `cursor` resumes the stream after this update. */
export type JobUpdate =
  /** A run has ended. */
  | { readonly type: 'attempt'; readonly attempt: AttemptView; readonly cursor: string }
  /** A handler called `job.log`. */
  | { readonly type: 'log'; readonly line: LogView; readonly cursor: string }
  /** The progress has changed; values that were replaced meanwhile are left out. */
  | { readonly type: 'progress'; readonly progress: unknown; readonly cursor: string }
  /** The last update: the job has ended. */
  | { readonly type: 'end'; readonly job: JobView; readonly cursor: string }

/** The pause between two looks: it doubles while nothing happens. */
const PAUSE_FIRST_MS = 50
const PAUSE_MAX_MS = 1_000
const PAGE = 100

interface FollowParts {
  readonly env: Environment
  readonly view: (job: Job) => Promise<JobView>
}

/**
 * The updates of a job from its enqueue, or from a cursor, until it has ended. The job is read first and its runs and log
 * lines after that, so that all of them come before the end.
 */
export async function* followJob(
  { env, view }: FollowParts,
  given: string,
  options: FollowOptions = {},
): AsyncGenerator<JobUpdate, void, undefined> {
  const { cursor, signal } = read(followOptions, options, 'jobs.follow:')
  const id = String(given).toLowerCase()
  const bell = new Bell(env, id)
  const reader = new Reader(id, cursor === undefined ? START : readPosition(cursor))
  try {
    await bell.listen()
    for (let pauseMs = PAUSE_FIRST_MS; ; ) {
      signal?.throwIfAborted()
      const store = env.connection.opened ?? (await env.connection.store())
      const job = await store.get(id)
      if (!job) throw noJob(id)
      let isNew = false
      for await (const update of reader.news(store, job)) {
        isNew = true
        yield update
      }
      if (TERMINAL.has(job.state)) {
        if (!hasSeenEnd(reader.position, job)) yield { type: 'end', job: await view(job), cursor: reader.atEnd(job) }
        return
      }
      pauseMs = isNew ? PAUSE_FIRST_MS : Math.min(PAUSE_MAX_MS, pauseMs * 2)
      await bell.wait(pauseMs, signal)
    }
  } finally {
    bell.stop()
  }
}

/** Reads what is new since its position. */
class Reader {
  readonly #id: string
  position: FollowPosition

  constructor(id: string, position: FollowPosition) {
    this.#id = id
    this.position = position
  }

  async *news(store: Store, job: Job): AsyncGenerator<JobUpdate> {
    const attempts = await this.#attempts(store, job)
    for await (const line of this.#lines(store, job)) {
      // The lines of a run come before its end.
      while (attempts[0] && attempts[0].run < line.run) yield this.#attempt(attempts.shift()!)
      yield this.#log(line)
    }
    for (const attempt of attempts) yield this.#attempt(attempt)
    const { progress = '' } = job
    if (progress === this.position.progress || progress === '') return
    yield { type: 'progress', progress: JSON.parse(progress), cursor: this.#at({ progress }) }
  }

  atEnd({ generation }: Job): string {
    return this.#at({ endedGeneration: generation })
  }

  /** Runs that have ended since the last one seen. A run that has not ended has no record yet. */
  async #attempts(store: Store, { run, state }: Job): Promise<AttemptRecord[]> {
    const ended = state === 'running' ? run - 1 : run
    if (this.position.run >= ended) return []
    const found: AttemptRecord[] = []
    for (let cursor: string | undefined; ; ) {
      const { data, next } = await store.history(this.#id, { limit: PAGE, ...(cursor !== undefined && { cursor }) })
      found.push(...data.filter(attempt => attempt.run > this.position.run))
      if (next === undefined || data.at(-1)!.run <= this.position.run) return found.reverse()
      cursor = next
    }
  }

  /** A list of lines has a cursor only before its last page, so that page is read again, without the lines seen. */
  async *#lines(store: Store, { run }: Job): AsyncGenerator<LogRecord> {
    if (run === 0) return
    for (;;) {
      const { page, seen } = this.position
      const { data, next } = await store.logs(this.#id, { limit: PAGE, ...(page !== '' && { cursor: page }) })
      for (const line of data.slice(seen)) yield line
      if (next === undefined) return
      this.position = { ...this.position, page: next, seen: 0 }
    }
  }

  #attempt(attempt: AttemptRecord): JobUpdate {
    return { type: 'attempt', attempt: viewAttempt(attempt), cursor: this.#at({ run: attempt.run }) }
  }

  #log(line: LogRecord): JobUpdate {
    return { type: 'log', line: viewLog(line), cursor: this.#at({ seen: this.position.seen + 1 }) }
  }

  #at(change: Partial<FollowPosition>): string {
    this.position = { ...this.position, ...change }
    return writePosition(this.position)
  }
}

/** Ends a pause as soon as something happens to the job in this process, or the store announces a change. */
class Bell {
  readonly #env: Environment
  readonly #id: string
  #stop: (() => void)[] = []
  #isRung = false
  #end: (() => void) | undefined

  constructor(env: Environment, id: string) {
    this.#env = env
    this.#id = id
  }

  async listen(): Promise<void> {
    const { events, connection } = this.#env
    const hear = ({ job: { id } }: { readonly job: { readonly id: string } }): void => {
      if (id === this.#id) this.#ring()
    }
    this.#stop = [
      events.on('attempt.failed', hear),
      events.on('job.succeeded', hear),
      events.on('job.dead', hear),
      events.on('job.cancelled', hear),
    ]
    const store = await connection.store()
    if (store.announcesEnds) this.#stop.push(store.watch(() => this.#ring(), 'ends'))
  }

  wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#env
    let timer: Timer | undefined
    const abort = (): void => this.#end?.()
    const over = new Promise<void>(resolve => {
      this.#end = resolve
      timer = clock.timer(ms, resolve)
      signal?.addEventListener('abort', abort, { once: true })
      if (this.#isRung || signal?.aborted) resolve()
    }).finally(() => {
      timer?.cancel()
      signal?.removeEventListener('abort', abort)
      this.#isRung = false
    })
    return clock.outstanding ? clock.outstanding.until(over) : over
  }

  stop(): void {
    for (const stop of this.#stop.splice(0)) stop()
  }

  #ring(): void {
    this.#isRung = true
    this.#end?.()
  }
}
