import { median } from './sample.js'

/**
 * @typedef {import('./measure.js').Figures} Figures
 * @typedef {import('./plan.js').Measurement} Measurement
 * @typedef {import('./plan.js').Target} Target
 * @typedef {Map<string, Figures[]>} Samples by the label of the lane
 *
 * @typedef {{ median: number, min: number, max: number }} Spread
 * @typedef {{ label: string, figures: Record<string, Spread>, foreignCores?: number }} LaneReport
 * @typedef {{ says: string, of: string, value: number, isRatio: boolean, reached: boolean }} Verdict
 * @typedef {{ name: string, about: string, lanes: LaneReport[], verdicts: Verdict[] }} Report
 */

export const HEADINGS = /** @type {Record<string, string>} */ ({
  perSecond: 'per second',
  cpuPercent: 'CPU, % of a core',
  cpuMicros: 'total CPU, µs each',
  maxRssMb: 'max RSS, MB',
  p50Ms: 'p50, ms',
  p95Ms: 'p95, ms',
  slowestP95Ms: 'p95 of the slowest, ms',
  paintMs: 'first paint, ms',
  filterMs: 'filter, ms',
  slowestFilterMs: 'slowest filter, ms',
  heapGrowthMb: 'heap growth, MB',
  p99Ms: 'p99, ms',
  firedPercent: 'occurrences with a job, %',
  doubled: 'with two jobs',
  transactionsPerSecond: 'transactions/s',
  firstPerSecond: 'per second at the start',
  lastPerSecond: 'per second at the end',
  lastShare: 'last ÷ first',
})

/**
 * @param {Measurement} measurement
 * @param {Samples} samples
 * @returns {Report}
 */
export function judge(measurement, samples) {
  const lanes = [...samples].map(([label, rounds]) => laneReport(label, rounds, measurement.figures))
  const verdicts = measurement.targets.flatMap(target => verdictOf(target, lanes))
  return { name: measurement.name, about: measurement.about, lanes, verdicts }
}

/**
 * @param {string} label
 * @param {readonly Figures[]} rounds
 * @param {readonly string[]} figures
 * @returns {LaneReport}
 */
function laneReport(label, rounds, figures) {
  const foreign = rounds.flatMap(round => round['foreignCores'] ?? [])
  return {
    label,
    figures: Object.fromEntries(
      figures.map(figure => [figure, spread(rounds.map(round => round[figure] ?? Number.NaN))]),
    ),
    ...(foreign.length > 0 ? { foreignCores: Math.max(...foreign) } : {}),
  }
}

/**
 * @param {readonly number[]} values
 * @returns {Spread}
 */
function spread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/**
 * Returns no verdict if a lane was left out of this run.
 *
 * @param {Target} target
 * @param {readonly LaneReport[]} lanes
 * @returns {Verdict[]}
 */
export function verdictOf(target, lanes) {
  /** @param {string} label */
  const medianOf = label => lanes.find(lane => lane.label === label)?.figures[target.figure]?.median
  const own = medianOf(target.of)
  const others = target.against?.map(medianOf)
  if (own === undefined || others?.includes(undefined)) return []
  const best = target.atMost === undefined ? Math.max : Math.min
  const value = others ? own / best(...others.map(Number)) : own
  const reached = value >= (target.atLeast ?? -Infinity) && value <= (target.atMost ?? Infinity)
  return [{ says: target.says, of: target.of, value, isRatio: others !== undefined, reached }]
}

/**
 * @param {Report} report
 * @returns {string}
 */
export function render(report) {
  const figures = Object.keys(report.lanes[0]?.figures ?? {})
  const noisy = report.lanes.some(lane => (lane.foreignCores ?? 0) >= 0.05)
  const table = [
    ['', ...figures.flatMap(figure => [HEADINGS[figure] ?? figure, '']), ...(noisy ? ['others busy, cores'] : [])],
    ...report.lanes.map(lane => [
      lane.label,
      ...Object.values(lane.figures).flatMap(each => [
        number(each.median),
        `[${number(each.min)} – ${number(each.max)}]`,
      ]),
      ...(noisy ? [number(lane.foreignCores ?? 0)] : []),
    ]),
  ]
  const verdicts = report.verdicts.map(({ says, of, value, isRatio, reached }) => [
    `${reached ? '✓' : '✗'} ${of}`,
    says,
    isRatio ? `${value.toFixed(2)} ×` : number(value),
  ])
  return [
    `${report.name}: ${report.about}`,
    columns(table),
    ...(verdicts.length > 0 ? ['', columns(verdicts)] : []),
    '',
  ].join('\n')
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 1_000 ? 1 : 0 })
}

/**
 * Aligns the first column to the left and the others to the right.
 *
 * @param {readonly (readonly string[])[]} rows
 */
function columns(rows) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0)))
  return rows
    .map(row =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
    )
    .map(line => `  ${line.trimEnd()}`)
    .join('\n')
}
