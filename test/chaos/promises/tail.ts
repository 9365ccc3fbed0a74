import type { Fault, Ledger } from '../ledger.js'

/** What was committed shortly before the standby fell behind may not have reached it either. */
const MARGIN_MS = 1_000

interface Tail {
  readonly from: number
  readonly to: number
}

/**
 * Tells which jobs were touched between the moment at which an asynchronous standby fell behind and its promotion. The
 * documentation promises nothing about those moments.
 */
export function tailOf(ledger: Ledger): (id: string) => boolean {
  const tails = tailsIn(ledger.faults)
  if (tails.length === 0) return () => false
  const touched = new Set<string>()
  const touch = (id: string | undefined, at: number): void => {
    if (id !== undefined && tails.some(({ from, to }) => from <= at && at <= to)) touched.add(id)
  }
  for (const { answers } of ledger.asked.values()) for (const { id, at } of answers) touch(id, at)
  for (const [id, starts] of ledger.starts) {
    for (const { at, end } of starts) {
      touch(id, at)
      if (end) touch(id, end.at)
    }
  }
  for (const [id, effects] of ledger.effects) for (const { at } of effects) touch(id, at)
  return id => touched.has(id)
}

function tailsIn(faults: readonly Fault[]): readonly Tail[] {
  const begins = faults.filter(({ kind }) => kind === 'tail begins')
  const ends = faults.filter(({ kind }) => kind === 'tail ends')
  return begins.map(({ at }, index) => ({ from: at - MARGIN_MS, to: (ends[index]?.at ?? at) + MARGIN_MS }))
}
