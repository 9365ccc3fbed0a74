import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../../support/port.js'
import { exitOf, startProcess } from '../../support/process.js'
import type { Verdict } from '../verdict.js'
import { answerMs, since, type Work, workOf } from './answer-time.js'

/** The heap that a server may have. An unlimited one would hide what a flood costs. */
const FLAGS = ['--max-old-space-size=512']

export interface Bounds {
  readonly memoryMb: number
  /** For the requests of a client that behaves. */
  readonly answerMs: number
}

export function boundsText({ memoryMb, answerMs }: Bounds, ...more: readonly string[]): string {
  return [`memory ${memoryMb} MB`, `other requests answered within ${answerMs / 1000} s`, ...more].join(', ')
}

interface Answer {
  readonly status: number
  readonly bytes: number
  readonly ms: number
}

interface FloodOptions {
  readonly token?: string
  /** The processes of a store that has its own. */
  readonly storeProcesses?: () => readonly number[]
}

/**
 * A server in its own process that a scenario floods, seen from a client that behaves. Its times leave out
 * how long the machine gave the cores to other programs.
 */
export class FloodedServer {
  readonly port: number
  readonly #child: ChildProcess
  readonly #options: FloodOptions
  slowestMs = 0

  private constructor(port: number, child: ChildProcess, options: FloodOptions) {
    this.port = port
    this.#child = child
    this.#options = options
  }

  static async start(store: string, options: FloodOptions = {}): Promise<FloodedServer> {
    const port = await freePort()
    const args = [store, String(port), ...(options.token === undefined ? [] : [options.token])]
    const child = await startProcess('chaos/processes/limit-server.js', args, { flags: FLAGS })
    return new FloodedServer(port, child, options)
  }

  /** Resolves to the slowest time, the size and the status of some requests. */
  async get(path: string, times = 1): Promise<Answer> {
    let slowest: Answer = { status: 0, bytes: 0, ms: -1 }
    for (let count = 0; count < times; count++) {
      const [startedAt, before] = [performance.now(), new Map(this.#work())]
      const { token } = this.#options
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers })
      const bytes = (await response.arrayBuffer()).byteLength
      const elapsedMs = performance.now() - startedAt
      const [client, server, ...store] = this.#work().map(([pid, work]) => since(before.get(pid), work))
      const ms = answerMs({ elapsedMs, client: client!, server: server!, store })
      if (ms > slowest.ms) slowest = { status: response.status, bytes, ms }
    }
    this.slowestMs = Math.max(this.slowestMs, slowest.ms)
    return slowest
  }

  /** What the client, the server and the store have done so far. */
  #work(): readonly (readonly [pid: number, work: Work])[] {
    const pids = [process.pid, this.#child.pid!, ...(this.#options.storeProcesses?.() ?? [])]
    return pids.map(pid => [pid, workOf(pid)])
  }

  async memoryMb(): Promise<number> {
    this.#child.send('memory')
    for (;;) {
      const [text] = await once(this.#child, 'message')
      const [, bytes] = /^memory (\d+)$/.exec(String(text)) ?? []
      if (bytes !== undefined) return Math.round(Number(bytes) / 1024 ** 2)
    }
  }

  /** Changes something that event streams report. */
  enqueue(): void {
    this.#child.send('enqueue')
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Compares memory and answers with what the documentation states. */
  async judge(verdict: Verdict, bounds: Bounds): Promise<void> {
    const { memoryMb, answerMs } = bounds
    verdict.expect(this.isAlive, 'requests are answered within their bounds', () => 'the server has ended')
    if (!this.isAlive) return
    const used = await this.memoryMb()
    verdict.count('memory of the server, MB', used)
    verdict.count('slowest answer, ms', Math.round(this.slowestMs))
    const promise = 'memory and descriptors stay within their bounds'
    verdict.expect(used <= memoryMb, promise, () => `${used} MB, expected at most ${memoryMb}`)
    const text = (): string => `${Math.round(this.slowestMs)} ms, expected at most ${answerMs}`
    verdict.expect(this.slowestMs <= answerMs, 'requests are answered within their bounds', text)
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL')
    await exitOf(this.#child)
  }
}
