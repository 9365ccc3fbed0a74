import { readdirSync, readFileSync } from 'node:fs'

/**
 * One measured stretch of one process.
 *
 * @typedef {object} Sample
 * @property {number} seconds
 * @property {number} perSecond what was done per second
 * @property {number} cpuPercent of one core, used by this process
 * @property {number} cpuMicros used by this process and its server per item, if the system reports it
 * @property {number} maxRssMb highest so far in this process
 * @property {number} [foreignCores] cores kept busy by other processes; absent if the system does not report it
 */

/**
 * Times `run`, which does `count` things.
 *
 * @param {number} count
 * @param {() => Promise<void>} run
 * @param {number} [serverPid] of a database server that works for this process
 * @returns {Promise<Sample>}
 */
export async function sample(count, run, serverPid) {
  const cpuBefore = process.cpuUsage()
  const busyBefore = busyCoreSeconds()
  const serverBefore = serverCoreSeconds(serverPid)
  const startedAt = process.hrtime.bigint()
  await run()
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const serverSeconds = serverCoreSeconds(serverPid) - serverBefore
  const busyAfter = busyCoreSeconds()
  const cpu = process.cpuUsage(cpuBefore)
  const cpuSeconds = (cpu.user + cpu.system) / 1e6
  return {
    seconds,
    perSecond: count / seconds,
    cpuPercent: (cpuSeconds / seconds) * 100,
    cpuMicros: ((cpuSeconds + serverSeconds) / count) * 1e6,
    maxRssMb: process.resourceUsage().maxRSS / 1024,
    ...(busyBefore !== undefined && busyAfter !== undefined
      ? { foreignCores: Math.max(0, (busyAfter - busyBefore - cpuSeconds - serverSeconds) / seconds) }
      : {}),
  }
}

/** Seconds that all cores together were busy since boot; only Linux reports it. */
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
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND
}

const TICKS_PER_SECOND = 100

/**
 * Seconds that a server and its processes were busy.
 *
 * @param {number} [serverPid]
 */
function serverCoreSeconds(serverPid) {
  const server = serverPid === undefined ? undefined : statOf(serverPid)
  if (server === undefined) return 0
  let ticks = server.ticks + server.endedTicks
  for (const pid of readdirSync('/proc')) {
    const stat = /^\d+$/.test(pid) ? statOf(Number(pid)) : undefined
    if (stat && stat.parent === serverPid) ticks += stat.ticks
  }
  return ticks / TICKS_PER_SECOND
}

/**
 * The process that started the one which answers a connection; undefined where it can't be seen from here.
 *
 * @param {number} backendPid
 */
export function serverPidOf(backendPid) {
  const backend = statOf(backendPid)
  return backend?.name === 'postgres' && statOf(backend.parent)?.name === 'postgres' ? backend.parent : undefined
}

/** @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map(i => fields[i])
    return { name, parent, ticks: user + system, endedTicks: endedUser + endedSystem }
  } catch {
    return undefined
  }
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
