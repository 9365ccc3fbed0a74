import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Result } from '../result.js'
import type { Outcome, Size } from '../scenario.js'
import { SCENARIOS } from '../scenarios.js'
import { FOUND, HELD_BY, INTRODUCTION, MATRIX, NOT_HELD, NOT_PROMISED } from './text.js'
import { amount, countWords, sizeWords } from './words.js'

export const PAGE_PATH = fileURLToPath(new URL('../../../docs/reliability.md', import.meta.url))

export function writePage(result: Result): void {
  writeFileSync(PAGE_PATH, pageOf(result))
}

/** docs/reliability.md: what was promised, done and found. */
export function pageOf(result: Result): string {
  const limits = SCENARIOS.filter(({ bounds }) => bounds !== undefined).map(({ name }) => name)
  const { outcomes } = result
  const isLimit = ({ scenario }: Outcome): boolean => limits.includes(scenario)
  const faults = outcomes.filter(one => !isLimit(one))
  const parts = [INTRODUCTION, promises(), done(result, faults), load(outcomes.filter(isLimit)), ...missingIn(outcomes)]
  return [...parts, NOT_HELD, FOUND, MATRIX, NOT_PROMISED].join('\n')
}

function promises(): string {
  const rows = HELD_BY.map(([promise, tests]) => `| ${promise} | ${tests.map(test => `\`${test}\``).join(', ')} |`)
  return ['## Promises, and the tests that hold them', '', '| Promise | Tests |', '|---|---|', ...rows, ''].join('\n')
}

function done({ node, machine }: Result, outcomes: readonly Outcome[]): string {
  const head = [
    '## What was done',
    '',
    `The last run of each scenario, with Node ${node.slice(1)} on a machine with ${machine.cores} cores and ${machine.memoryGiB} GB that was shared with other work.`,
    'Where a run was smaller than the full size, the full size is named too.',
    '',
    '| Scenario | Size | What happened | Result |',
    '|---|---|---|---|',
  ]
  return [...head, ...outcomes.map(rowOf), ''].join('\n')
}

/** Scenarios without a result; npm test runs a slice of their faults. */
function missingIn(outcomes: readonly Outcome[]): readonly string[] {
  const missing = SCENARIOS.filter(({ name }) => !outcomes.some(one => one.scenario === name))
  if (missing.length === 0) return []
  return [`No result beyond a slice yet: ${missing.map(({ name }) => name).join('; ')}.`, '']
}

function load(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(outcome => {
    const { bounds = '' } = SCENARIOS.find(({ name }) => name === outcome.scenario) ?? {}
    return `| ${outcome.scenario}: ${outcome.about} | ${bounds} | ${sizeOf(outcome)} | ${countsOf(outcome)} | ${verdictOf(outcome)} |`
  })
  const head = [
    '## Limits under hostile load',
    '',
    'The time of an answer leaves out how long the client, the server and the store waited for a core, because the machine was shared with other work.',
    '',
    '| Load | Bound | Size | Measured | Result |',
    '|---|---|---|---|---|',
  ]
  return [...head, ...rows, ''].join('\n')
}

function rowOf(outcome: Outcome): string {
  const { scenario, about } = outcome
  return `| **${scenario}**: ${about} | ${sizeOf(outcome)} | ${countsOf(outcome)} | ${verdictOf(outcome)} |`
}

function sizeOf({ scenario, size, notRun }: Outcome): string {
  if (notRun !== undefined) return '–'
  const full: Size = SCENARIOS.find(({ name }) => name === scenario)?.full ?? {}
  return Object.entries(size)
    .map(
      ([name, count]) =>
        `${sizeWords(name, count)}${(full[name] ?? 0) > count ? ` (full: ${amount(full[name]!)})` : ''}`,
    )
    .join(', ')
}

function countsOf({ counts }: Outcome): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => countWords(what, count))
    .join(', ')
}

function verdictOf({ violations, missing, notRun }: Outcome): string {
  if (notRun !== undefined) return `not run: ${notRun}`
  if (violations.length + missing.length === 0) return 'every promise kept'
  return [...violations, ...missing.map(text => `too few ${text}`)]
    .join('; ')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
}
