import { type Finding, lintPolicy } from '../../core/policy/lint.js'
import type { Policy } from '../../core/policy/policy.js'
import { type PreviewRow, preview, typicalStarts } from '../../core/policy/preview.js'
import type { Storm } from '../../core/simulation/herd.js'
import type { Simulation } from '../../core/simulation/simulate.js'
import { simulateStorm } from '../../core/simulation/storm.js'

export interface Trial {
  readonly policy: Policy
  /** The scenario, read by the page: the thread has no schemas. */
  readonly storm: Storm
}

export interface TrialResult extends Simulation {
  readonly findings: readonly Finding[]
  readonly rows: readonly PreviewRow[]
  /** When each retry starts on average, in milliseconds from the first failure. */
  readonly typicalMs: readonly number[]
}

export type Answer = { readonly results: readonly TrialResult[] } | { readonly problem: string }

/** Simulates policies with the retry code of the workers. */
export function tryOut(trials: readonly Trial[]): Answer {
  try {
    return { results: trials.map(trial) }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

function trial({ policy, storm }: Trial): TrialResult {
  return {
    ...simulateStorm(policy, storm),
    findings: lintPolicy(policy),
    rows: preview(policy),
    typicalMs: typicalStarts(policy),
  }
}
