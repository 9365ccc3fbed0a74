import { openSync, writeSync } from 'node:fs'

/**
 * The ledger of a process: each call appends one line with one write, so that it survives kill -9.
 *
 * @param {string} path
 * @returns {(what: string, facts: object) => void}
 */
export function openLedger(path) {
  const file = openSync(path, 'a')
  // A test sets the clock of its processes; this time is not affected.
  const now = () => Math.round(performance.timeOrigin + performance.now())
  return (what, facts) => void writeSync(file, `${JSON.stringify({ what, at: now(), ...facts })}\n`)
}
