import { callsPlan } from './plan-calls.js'
import { limitsPlan } from './plan-limits.js'
import { postgresPlan } from './plan-postgres.js'
import { serverPlan } from './plan-server.js'
import { sqlitePlan } from './plan-sqlite.js'

/**
 * The measurements and their targets.
 *
 * @typedef {import('./measure.js').Lane} Lane
 *
 * A target compares one figure of one lane with a number, or with the best of other lanes in the same
 * run: the highest, or the lowest where there is an `atMost`.
 *
 * @typedef {object} Target
 * @property {string} says
 * @property {string} of label of the lane that is judged
 * @property {string} figure
 * @property {readonly string[]} [against] labels of the lanes to compare with: a ratio
 * @property {number} [atLeast]
 * @property {number} [atMost]
 *
 * @typedef {object} Measurement
 * @property {string} name
 * @property {string} about
 * @property {readonly string[]} figures shown for each lane
 * @property {readonly Lane[]} lanes
 * @property {readonly Target[]} targets
 * @property {number} [roundsMin] more rounds than others get, of what is judged by a small difference
 * @property {number} [roundsMax] fewer rounds than others get, of what takes long and is judged within itself
 */

/**
 * @param {{ quick: boolean }} size quick runs give a first impression, not a verdict
 * @returns {readonly Measurement[]}
 */
export function plan(size) {
  return [...sqlitePlan(size), ...callsPlan(size), ...serverPlan(size), ...postgresPlan(size), ...limitsPlan(size)]
}
