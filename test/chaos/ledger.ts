import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { openLedger } from './processes/ledger.js'

/** What a client asked for. `call` is a tag of the job, so that the row names the call that made it. */
export interface Asked {
  readonly call: string
  readonly name: string
  readonly key?: string
  readonly tenantId?: string
  readonly answers: Answer[]
}

/** `refused`: the call was reported as not executed. `unknown`: it may have been. */
export interface Answer {
  readonly what: 'acknowledged' | 'refused' | 'unknown'
  readonly at: number
  readonly id?: string
  readonly code?: string
}

/** A handler that began, as the handler saw it. */
export interface Start {
  readonly at: number
  readonly id: string
  readonly name: string
  readonly run: number
  readonly attempt: number
  readonly generation: number
  readonly pid: number
  /** Which version of the library ran it. */
  readonly from?: string
  end?: { readonly at: number; readonly how: 'returned' | 'threw' }
}

/** `effect`: the side effect happened. `kept`: `job.once` returned its result. */
export interface Effect {
  readonly what: 'effect' | 'kept'
  readonly at: number
  readonly id: string
  readonly run: number
  readonly value?: string
}

/** A webhook message that arrived. */
export interface Received {
  readonly message: string
  readonly type: string
  readonly job: string
  readonly generation: number
}

/** Something that the scenario did to the system, such as `kill` or `freeze`. */
export interface Fault {
  readonly kind: string
  readonly at: number
  readonly pid?: number
}

/** What clients, handlers and receivers saw, written outside the system to one file. */
export interface Ledger {
  readonly asked: ReadonlyMap<string, Asked>
  readonly starts: ReadonlyMap<string, readonly Start[]>
  readonly effects: ReadonlyMap<string, readonly Effect[]>
  readonly received: readonly Received[]
  readonly faults: readonly Fault[]
}

/** Writes faults and received messages from this process. */
export function writeTo(path: string): (what: 'fault' | 'received', facts: object) => void {
  return openLedger(path)
}

/** More than all handlers write in a second. */
const TAIL_BYTES = 1 << 18

/** Whether a handler of this process has just started and not ended, according to the last lines. */
export function isInHandler(path: string, pid: number): boolean {
  const file = openSync(path, 'r')
  const tail = Buffer.alloc(TAIL_BYTES)
  const length = readSync(file, tail, 0, TAIL_BYTES, Math.max(0, fstatSync(file).size - TAIL_BYTES))
  closeSync(file)
  const running = new Set<string>()
  for (const line of tail.toString('utf8', 0, length).split('\n').slice(0, -1)) {
    // The first line is cut off.
    const [, what, id] = /"what":"(started|ended)".*?"id":"([^"]+)"/.exec(line) ?? []
    if (id === undefined || !line.includes(`"pid":${pid},`)) continue
    if (what === 'started') running.add(id)
    else running.delete(id)
  }
  return running.size > 0
}

export function readLedger(path: string): Ledger {
  const asked = new Map<string, Asked>()
  const starts = new Map<string, Start[]>()
  const effects = new Map<string, Effect[]>()
  const received: Received[] = []
  const faults: Fault[] = []
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    if (line === '') continue
    const entry = JSON.parse(line)
    switch (entry.what) {
      case 'asked':
        asked.set(entry.call, { ...entry, answers: [] })
        break
      case 'acknowledged':
      case 'refused':
      case 'unknown':
        asked.get(entry.call)?.answers.push(entry)
        break
      case 'started':
        append(starts, entry.id, entry)
        break
      case 'ended': {
        const start = starts.get(entry.id)?.find(({ run, pid }) => run === entry.run && pid === entry.pid)
        if (start) start.end = { at: entry.at, how: entry.how }
        break
      }
      case 'effect':
      case 'kept':
        append(effects, entry.id, entry)
        break
      case 'received':
        received.push(entry)
        break
      case 'fault':
        faults.push(entry)
        break
    }
  }
  return { asked, starts, effects, received, faults }
}

function append<T>(to: Map<string, T[]>, key: string, value: T): void {
  const list = to.get(key)
  if (list) list.push(value)
  else to.set(key, [value])
}
