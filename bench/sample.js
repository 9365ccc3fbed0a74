import { readFileSync } from 'node:fs'

/**
 * One measured stretch of one process.
 *
 * @typedef {object} Sample
 * @property {number} seconds
 * @property {number} perSecond what was done per second
 * @property {number} cpuPercent of one core, used by this process
 * @property {number} maxRssMb highest so far in this process
 * @property {number} [foreignCores] cores kept busy by everybody else; absent where the system doesn't tell
 */

/**
 * Times `run`, which does `count` things.
 *
 * @param {number} count
 * @param {() => Promise<void>} run
 * @returns {Promise<Sample>}
 */
export async function sample(count, run) {
  const cpuBefore = process.cpuUsage()
  const busyBefore = busyCoreSeconds()
  const startedAt = process.hrtime.bigint()
  await run()
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const busyAfter = busyCoreSeconds()
  const cpu = process.cpuUsage(cpuBefore)
  const cpuSeconds = (cpu.user + cpu.system) / 1e6
  return {
    seconds,
    perSecond: count / seconds,
    cpuPercent: (cpuSeconds / seconds) * 100,
    maxRssMb: process.resourceUsage().maxRSS / 1024,
    ...(busyBefore !== undefined && busyAfter !== undefined
      ? { foreignCores: Math.max(0, (busyAfter - busyBefore - cpuSeconds) / seconds) }
      : {}),
  }
}

/** Seconds that all cores together were busy since boot; only Linux tells. */
export function busyCoreSeconds() {
  let stat
  try {
    stat = readFileSync('/proc/stat', 'utf8')
  } catch {
    return undefined
  }
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = stat
    .slice('cpu'.length, stat.indexOf('\n'))
    .trim()
    .split(/\s+/)
    .map(Number)
  const ticksPerSecond = 100
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
export function pause(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/**
 * The value below which the share `p` of the sorted values lies.
 *
 * @param {readonly number[]} values
 * @param {number} p
 */
export function percentile(values, p) {
  const sorted = [...values].sort((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))]
  if (value === undefined) throw new Error('expected at least one value, got none')
  return value
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  const upper = sorted[Math.floor(sorted.length / 2)]
  if (lower === undefined || upper === undefined) throw new Error('expected at least one value, got none')
  return (lower + upper) / 2
}
