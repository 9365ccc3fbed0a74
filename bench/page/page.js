import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { HEADINGS, number, verdictOf } from '../report.js'
import { isNoisy } from './result.js'
import { CLOSING, OPENING } from './text.js'

/**
 * @typedef {import('../plan.js').Measurement} Measurement
 * @typedef {import('./result.js').Result} Result
 * @typedef {import('./result.js').KeptLane} KeptLane
 */

export const PAGE_PATH = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url))

/**
 * @param {Result} result
 * @param {readonly Measurement[]} plan
 */
export function writePage(result, plan) {
  writeFileSync(PAGE_PATH, pageOf(result, plan))
}

/**
 * `docs/benchmarks.md`. Every figure comes from the result; what the plan has and the result does not is named as not
 * measured.
 *
 * @param {Result} result
 * @param {readonly Measurement[]} plan
 */
export function pageOf(result, plan) {
  const sections = plan.map(measurement => {
    const kept = result.measurements.find(({ name }) => name === measurement.name)?.lanes ?? []
    return { measurement, kept, verdicts: measurement.targets.flatMap(target => verdictsIn(target, kept)) }
  })
  const measured = sections.filter(({ kept }) => kept.length > 0)
  const missing = sections.filter(({ kept }) => kept.length === 0).map(({ measurement }) => measurement)
  const behind = measured.flatMap(({ measurement, verdicts }) =>
    verdicts.filter(({ reached }) => !reached).map(verdict => ({ name: measurement.name, ...verdict })),
  )
  return [
    OPENING,
    '## Where we are behind',
    standingOf(measured.length, behind),
    ...measured.flatMap(({ measurement, kept, verdicts }) => [
      `## ${measurement.name}`,
      `${sentence(measurement.about)}${whenOf(kept)}`,
      chart(measurement, kept),
      figures(measurement, kept),
      ...(verdicts.length > 0 ? [table(['Target', '', 'Measured', ''], verdicts.map(verdictRow))] : []),
      ...notMeasured(measurement, kept),
    ]),
    '## Not measured yet',
    missing.length === 0
      ? 'Every measurement of the plan has a result.'
      : table(
          ['Measurement', ''],
          missing.map(({ name, about }) => [`\`${name}\``, about]),
        ),
    CLOSING,
    '',
  ].join('\n\n')
}

/**
 * @param {number} measured
 * @param {readonly (import('../report.js').Verdict & { name: string })[]} behind
 */
function standingOf(measured, behind) {
  if (measured === 0) return 'Nothing has been measured yet.'
  return behind.length === 0 ? 'No measured row missed its target.' : table(BEHIND, behind.map(missedRow))
}

const BEHIND = ['Measurement', 'Row', 'Target', 'Measured']

/** @param {import('../report.js').Verdict & { name: string }} missed */
function missedRow({ name, of, says, value, isRatio }) {
  return [`\`${name}\``, of, says, shownValue(value, isRatio)]
}

/** @param {import('../report.js').Verdict} verdict */
function verdictRow({ of, says, value, isRatio, reached }) {
  return [of, says, shownValue(value, isRatio), reached ? '✓' : '✗ missed']
}

/**
 * @param {number} value
 * @param {boolean} isRatio
 */
function shownValue(value, isRatio) {
  return isRatio ? `${value.toFixed(2)} ×` : number(value)
}

/**
 * A target compares lanes of one run only: on another day, the same machine may be half as fast.
 *
 * @param {import('../plan.js').Target} target
 * @param {readonly KeptLane[]} kept
 */
function verdictsIn(target, kept) {
  const own = kept.find(({ label }) => label === target.of)
  return own
    ? verdictOf(
        target,
        kept.filter(({ run }) => run.at === own.run.at && run.size === 'full'),
      )
    : []
}

const BAR_WIDTH = 40
/** Eighths of a character. */
const PARTS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/**
 * The first figure as bars of text, which need no colours and so fit every theme.
 *
 * @param {Measurement} measurement
 * @param {readonly KeptLane[]} kept
 */
function chart({ figures: [figure = ''] }, kept) {
  const values = kept.map(({ figures }) => figures[figure]?.median ?? 0)
  const most = Math.max(...values)
  const width = Math.max(...kept.map(({ label }) => label.length))
  const lines = kept.map(({ label }, i) => {
    const eighths = Math.max(1, Math.round(((values[i] ?? 0) / most) * BAR_WIDTH * 8))
    const bar = '█'.repeat(Math.floor(eighths / 8)) + PARTS[eighths % 8]
    return `${label.padEnd(width)}  ${bar} ${number(values[i] ?? 0)}`
  })
  return ['```txt', HEADINGS[figure] ?? figure, ...lines, '```'].join('\n')
}

/**
 * @param {Measurement} measurement
 * @param {readonly KeptLane[]} kept
 */
function figures({ figures: names }, kept) {
  return table(
    ['', ...names.map(name => HEADINGS[name] ?? name)],
    kept.map(lane => [
      lane.label,
      ...names.map(name => {
        const spread = lane.figures[name]
        if (!spread) return ''
        const range = lane.run.rounds > 1 ? ` (${number(spread.min)} – ${number(spread.max)})` : ''
        return `${number(spread.median)}${range}`
      }),
    ]),
  )
}

/**
 * @param {Measurement} measurement
 * @param {readonly KeptLane[]} kept
 */
function notMeasured({ lanes }, kept) {
  const missing = lanes.filter(({ label }) => kept.every(lane => lane.label !== label))
  return missing.length === 0 ? [] : [`Not measured yet: ${missing.map(({ label }) => label).join('; ')}.`]
}

/** @param {readonly KeptLane[]} kept */
function whenOf(kept) {
  const runs = new Map(kept.map(({ run }) => [run.at, run]))
  const words = [...runs.values()].map(({ at, size, rounds, machine }) => {
    const what =
      size === 'quick' ? 'a quick run, which gives no verdict' : `${rounds} ${rounds === 1 ? 'round' : 'rounds'}`
    return `${at.slice(0, 10)}, ${what}, on ${machine}${noiseOf(kept.filter(lane => lane.run.at === at))}`
  })
  return ` Measured ${words.join('; and ')}.`
}

/** @param {readonly KeptLane[]} lanes */
function noiseOf(lanes) {
  if (!lanes.some(isNoisy)) return ''
  const cores = Math.max(...lanes.map(({ foreignCores = 0 }) => foreignCores))
  return `, **while other processes used up to ${number(cores)} cores**: only the ratios mean something`
}

/** @param {string} about */
function sentence(about) {
  const text = about.charAt(0).toUpperCase() + about.slice(1)
  return text.endsWith('.') ? text : `${text}.`
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  const line = /** @param {readonly string[]} cells */ cells =>
    `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
