import type { Outcome } from './scenario.js'

/** A readable report: one block for each scenario, with what happened and what was broken. */
export function tableOf(outcomes: readonly Outcome[]): string {
  return outcomes.map(blockOf).join('\n\n')
}

export function blockOf(outcome: Outcome): string {
  const { scenario, seconds, counts, notRun, violations, missing } = outcome
  if (notRun !== undefined) return `${scenario}: not run: ${notRun}`
  const width = Math.max(0, ...Object.values(counts).map(count => amount(count).length))
  const rows = Object.entries(counts).map(([what, count]) => `  ${amount(count).padStart(width)}  ${what}`)
  const problems = [...violations.map(text => `  BROKEN   ${text}`), ...missing.map(text => `  TOO FEW  ${text}`)]
  const end = problems.length === 0 ? 'every promise was kept' : `${problems.length} problems`
  return [`${scenario}: ${end} (${seconds} s)`, ...rows, ...problems].join('\n')
}

function amount(count: number): string {
  return count.toLocaleString('en-US')
}
