import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { freePort } from '../../support/port.js'
import { exitOf, startProcess } from '../../support/process.js'
import type { Verdict } from '../verdict.js'

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

/**
 * How long the main thread of a process was ready to run and waited for a core, in milliseconds. Elsewhere than on Linux
 * it is not known.
 */
function heldUpMs(pid: number): number {
  try {
    const [, heldUpNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    return Number(heldUpNs) / 1e6
  } catch {
    return 0
  }
}

/**
 * A server in its own process that a scenario floods, seen from a client that behaves. Its times are without those in
 * which the machine gave the cores to other programs, so that they say something about the server and not about the load
 * of the machine.
 */
export class FloodedServer {
  readonly port: number
  readonly #child: ChildProcess
  readonly #token: string | undefined
  slowestMs = 0

  private constructor(port: number, child: ChildProcess, token: string | undefined) {
    this.port = port
    this.#child = child
    this.#token = token
  }

  static async start(store: string, token?: string): Promise<FloodedServer> {
    const port = await freePort()
    const args = [store, String(port), ...(token === undefined ? [] : [token])]
    return new FloodedServer(port, await startProcess('chaos/processes/limit-server.js', args, { flags: FLAGS }), token)
  }

  /** Resolves to the slowest time, the size and the status of some requests. */
  async get(path: string, times = 1): Promise<Answer> {
    let slowest: Answer = { status: 0, bytes: 0, ms: -1 }
    for (let count = 0; count < times; count++) {
      const [startedAt, before] = [performance.now(), this.#heldUp()]
      const headers = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }
      const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers })
      const bytes = (await response.arrayBuffer()).byteLength
      const heldUp = this.#heldUp().map((ms, index) => ms - before[index]!)
      // Both may have waited at the same time, so only the longer wait is sure.
      const ms = performance.now() - startedAt - Math.max(...heldUp)
      if (ms > slowest.ms) slowest = { status: response.status, bytes, ms }
    }
    this.slowestMs = Math.max(this.slowestMs, slowest.ms)
    return slowest
  }

  /** The waits of the client and of the server so far. */
  #heldUp(): readonly number[] {
    return [heldUpMs(process.pid), heldUpMs(this.#child.pid!)]
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
