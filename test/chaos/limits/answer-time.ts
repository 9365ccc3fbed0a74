import { readFileSync } from 'node:fs'

/** What the main thread of a process did: ran on a core, or was ready to run and waited for one. */
export interface Work {
  readonly ranMs: number
  readonly waitedMs: number
}

const IDLE: Work = { ranMs: 0, waitedMs: 0 }

/** Since the process started. Elsewhere than on Linux, and of a process that has ended, it is not known. */
export function workOf(pid: number): Work {
  try {
    const [ranNs, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    return { ranMs: Number(ranNs) / 1e6, waitedMs: Number(waitedNs) / 1e6 }
  } catch {
    return IDLE
  }
}

/** Between two looks. `before` is missing for a process that started in between. */
export function since(before: Work | undefined, now: Work): Work {
  const { ranMs, waitedMs } = before ?? IDLE
  return { ranMs: Math.max(0, now.ranMs - ranMs), waitedMs: Math.max(0, now.waitedMs - waitedMs) }
}

interface Request {
  readonly elapsedMs: number
  readonly client: Work
  readonly server: Work
  /** Processes of the store. They work for the request side by side, so only the longest wait delayed it for sure. */
  readonly store: readonly Work[]
}

/**
 * How long a request would have taken on a machine that does nothing else. Processes that other programs kept from a
 * core wait one after the other or at the same time, so their waits are subtracted, but never work that one of them did.
 */
export function answerMs({ elapsedMs, client, server, store }: Request): number {
  const waitedMs = client.waitedMs + server.waitedMs + Math.max(0, ...store.map(one => one.waitedMs))
  return Math.max(elapsedMs - waitedMs, server.ranMs, ...store.map(one => one.ranMs))
}
