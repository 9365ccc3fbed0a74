import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The last run of each lane, from which `docs/benchmarks.md` is generated. Lanes can be measured one after another, on
 * different days: each says when, on what machine and at which size it was measured.
 *
 * @typedef {import('../report.js').LaneReport} LaneReport
 * @typedef {import('../report.js').Report} Report
 *
 * @typedef {object} Run
 * @property {string} at when it began; lanes of one run have the same time
 * @property {'full' | 'quick'} size
 * @property {number} rounds
 * @property {string} machine
 *
 * @typedef {LaneReport & { run: Run }} KeptLane
 * @typedef {{ name: string, lanes: KeptLane[] }} KeptMeasurement
 * @typedef {{ measurements: KeptMeasurement[] }} Result
 */

export const RESULT_PATH = fileURLToPath(new URL('./result.json', import.meta.url))

/**
 * @param {string} [path]
 * @returns {Result}
 */
export function readResult(path = RESULT_PATH) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** @param {Result} result */
export function writeResult(result) {
  writeFileSync(RESULT_PATH, `${JSON.stringify(result, undefined, 2)}\n`)
}

/** With more other work than this, the figures say more about the machine than about the lane. */
const FOREIGN_CORES_MAX = 0.3

/** @param {LaneReport} lane */
export function isNoisy({ foreignCores = 0 }) {
  return foreignCores > FOREIGN_CORES_MAX
}

/**
 * Replaces the lanes that were measured and keeps the others, in the order of the plan. A result from a busy machine
 * replaces none from an idle one.
 *
 * @param {Result} result
 * @param {readonly Report[]} reports
 * @param {Run} run
 * @param {readonly import('../plan.js').Measurement[]} plan
 * @returns {Result}
 */
export function merged(result, reports, run, plan) {
  const measurements = plan.flatMap(({ name, lanes }) => {
    const measured = reports.find(report => report.name === name)?.lanes ?? []
    const earlier = result.measurements.find(kept => kept.name === name)?.lanes ?? []
    const kept = lanes.flatMap(({ label }) => {
      const lane = measured.find(each => each.label === label)
      const before = earlier.find(each => each.label === label)
      const isWorse = lane && before && isNoisy(lane) && !isNoisy(before)
      return lane && !isWorse ? { ...rounded(lane), run } : (before ?? [])
    })
    return kept.length > 0 ? [{ name, lanes: kept }] : []
  })
  return { measurements }
}

/**
 * Four digits are more than the noise allows.
 *
 * @param {LaneReport} lane
 * @returns {LaneReport}
 */
function rounded({ label, figures, foreignCores }) {
  const short = Object.entries(figures).map(([name, { median, min, max }]) => {
    return /** @type {const} */ ([name, { median: digits(median), min: digits(min), max: digits(max) }])
  })
  return {
    label,
    figures: Object.fromEntries(short),
    ...(foreignCores === undefined ? {} : { foreignCores: digits(foreignCores) }),
  }
}

/** @param {number} value */
function digits(value) {
  return Number(value.toPrecision(4))
}
