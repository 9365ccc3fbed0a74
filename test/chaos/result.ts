import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Outcome } from './scenario.js'

/** The last full run of each scenario; docs/reliability.md is generated from it. */
export interface Result {
  readonly node: string
  readonly machine: { readonly cores: number; readonly memoryGiB: number }
  readonly outcomes: readonly Outcome[]
}

export const RESULT_PATH = fileURLToPath(new URL('result.json', import.meta.url))

export function readResult(path = RESULT_PATH): Result {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Replaces the outcomes of the scenarios that ran, and keeps the others. */
export function writeResult(path: string, outcomes: readonly Outcome[], order: readonly string[]): Result {
  const kept = earlier(path).filter(({ scenario }) => !outcomes.some(one => one.scenario === scenario))
  const place = ({ scenario }: Outcome): number => order.indexOf(scenario)
  const result: Result = {
    node: process.version,
    machine: { cores: availableParallelism(), memoryGiB: Math.round(totalmem() / 1024 ** 3) },
    outcomes: [...kept, ...outcomes].filter(one => place(one) >= 0).sort((a, b) => place(a) - place(b)),
  }
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`)
  return result
}

function earlier(path: string): readonly Outcome[] {
  try {
    return readResult(path).outcomes
  } catch {
    return []
  }
}
