import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Events } from '../../../core/job/event.js'

const CRASH_WORKER = fileURLToPath(new URL('./crash-worker.js', import.meta.url))
/** More than the expected number of crashes, so that a fault of the demo cannot start processes forever. */
const STARTS_MAX = 10

export interface SupervisorEvents {
  started(event: Events['job.started'], pid: number): void
  died(pid: number, how: string): void
}

/** Restarts one worker process whenever it dies. */
export class Supervisor {
  readonly #path: string
  readonly #on: SupervisorEvents
  #child: ChildProcess | undefined
  #starts = 0
  #stopped = false

  constructor(path: string, on: SupervisorEvents) {
    this.#path = path
    this.#on = on
    this.#start()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const child = this.#child
    if (!child) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  #start(): void {
    this.#starts++
    const child = fork(CRASH_WORKER, [this.#path], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] })
    const pid = child.pid ?? 0
    this.#child = child
    child.on('message', event => this.#on.started(event as Events['job.started'], pid))
    child.once('error', error => this.#gone(child, pid, error.message))
    child.once('exit', (code, signal) => this.#gone(child, pid, signal ?? `exit code ${code}`))
  }

  #gone(child: ChildProcess, pid: number, how: string): void {
    if (this.#child !== child) return
    this.#child = undefined
    if (this.#stopped) return
    this.#on.died(pid, how)
    if (this.#starts < STARTS_MAX) this.#start()
  }
}
