import { isStatus } from '../../core/policy/rules.js'
import { type Duration, HOUR_MS, toMs } from '../../core/values/duration.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { checkInteger, checkKeys, checkName, checkText } from '../../core/values/limits.js'
import { DELIVERIES } from '../../core/webhook/webhook.js'
import type { NameChoice } from '../../store/store.js'
import { HTTP_JOB, QUEUE_DEFAULT } from '../client/definition.js'

// The options of pull workers and their limits.

export interface ClaimOptions {
  /** Its name in the history of jobs and in the list of workers; unique for every process. */
  readonly workerId: string
  /** Default `default`. */
  readonly queues?: readonly string[]
  /** Only jobs with these names. Default: all except built-in jobs. */
  readonly names?: readonly string[]
  /** 1…100. Default 1. */
  readonly limit?: number
  /** How long the lease lasts unless it is renewed: 1 s … 1 h. Default 30 s. */
  readonly lease?: Duration
  /** How long to wait for work if there is none: up to 30 s. Default: no wait. */
  readonly wait?: Duration
  /** 128 random bits in hex, new for every claim: a claim whose response was lost can be repeated with the same token. */
  readonly token?: string
  /** Where it runs, shown in the list of workers. */
  readonly host?: string
  readonly pid?: number
  /** Aborted when the caller no longer waits for the response: claimed jobs are released. */
  readonly signal?: AbortSignal
}

export interface ClaimPlan {
  readonly workerId: string
  readonly queues: readonly string[]
  readonly names: NameChoice
  readonly limit: number
  readonly leaseMs: number
  readonly waitMs: number
  readonly token: string
  /** The caller may repeat the claim, perhaps at this moment. */
  readonly isRepeatable: boolean
  readonly host: string
  readonly pid: number
  readonly signal?: AbortSignal
}

export interface ReportedError {
  readonly name?: string
  readonly message: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string
  /** Overrides every rule: false ends the job, true allows its retries. If absent, the rules of its policy decide. */
  readonly retryable?: boolean
}

export interface LogEntry {
  readonly message: string
  readonly data?: unknown
}

const CLAIM_OPTIONS = ['workerId', 'queues', 'names', 'limit', 'lease', 'wait', 'token', 'host', 'pid', 'signal']
const CLAIM_MAX = 100
const LIST_MAX = 100
const WAIT_MAX_MS = 30_000
export const LEASE_DEFAULT_MS = 30_000
const WORKER_ID_MAX = 128
export const LOG_ENTRIES_MAX = 100
const PID_MAX = 2 ** 31

export function claimPlan(options: ClaimOptions, newToken: () => string): ClaimPlan {
  const where = 'leases.claim'
  checkKeys(options, CLAIM_OPTIONS, where)
  const { workerId, queues = [QUEUE_DEFAULT], names, limit = 1, wait = 0, token, host, pid = 0, signal } = options
  checkText(workerId, `${where}: workerId`, WORKER_ID_MAX)
  checkNames(queues, `${where}: queues`)
  if (queues.includes(DELIVERIES)) {
    throw new ChronosError(
      'INVALID_OPTION',
      `${where}: queues: "${DELIVERIES}" is served by Chronos itself; leave it out`,
    )
  }
  if (names !== undefined) checkNames(names, `${where}: names`)
  checkInteger(limit, `${where}: limit`, 1, CLAIM_MAX)
  if (token !== undefined) checkToken(token, where)
  if (host !== undefined) checkText(host, `${where}: host`, WORKER_ID_MAX)
  checkInteger(pid, `${where}: pid`, 0, PID_MAX)
  return {
    workerId,
    queues: [...new Set(queues)],
    names: names ? { list: [...new Set(names)], isExcluded: false } : { list: [HTTP_JOB], isExcluded: true },
    limit,
    leaseMs: leaseMsOf(options.lease, where),
    waitMs: toMs(wait, `${where}: wait`, { max: WAIT_MAX_MS }),
    token: token ?? newToken(),
    isRepeatable: token !== undefined,
    host: host ?? 'unknown',
    pid,
    ...(signal && { signal }),
  }
}

export function leaseMsOf(lease: Duration | undefined, where: string): number {
  return toMs(lease ?? LEASE_DEFAULT_MS, `${where}: lease`, { min: 1_000, max: HOUR_MS })
}

/** Every call for a lease carries its token. */
export function checkLease(jobId: unknown, options: unknown, known: readonly string[], where: string): void {
  checkText(jobId, `${where}: jobId`)
  checkKeys(options, ['token', ...known], where)
  checkToken((options as { token?: unknown }).token, where)
}

export function checkError(error: unknown, where: string): asserts error is ReportedError {
  checkKeys(error, ['name', 'message', 'code', 'status', 'stack', 'retryable'], `${where}: error`)
  const { name, message, code, status, stack, retryable } = error as Record<string, unknown>
  if (typeof message !== 'string') throw expected(`${where}: error.message`, 'a text', message)
  for (const [field, text] of Object.entries({ name, code, stack })) {
    if (text !== undefined && typeof text !== 'string') throw expected(`${where}: error.${field}`, 'a text', text)
  }
  if (status !== undefined && !isStatus(status)) throw expected(`${where}: error.status`, 'an HTTP status', status)
  if (retryable !== undefined && typeof retryable !== 'boolean') {
    throw expected(`${where}: error.retryable`, 'true or false', retryable)
  }
}

export function checkLog(log: unknown, where: string): asserts log is readonly LogEntry[] {
  if (!Array.isArray(log) || log.length > LOG_ENTRIES_MAX) {
    throw expected(`${where}: log`, `an array of at most ${LOG_ENTRIES_MAX} lines`, log)
  }
  for (const [index, line] of log.entries()) {
    checkKeys(line, ['message', 'data'], `${where}: log[${index}]`)
    const { message } = line as { message?: unknown }
    if (typeof message !== 'string') throw expected(`${where}: log[${index}].message`, 'a text', message)
  }
}

function checkToken(token: unknown, where: string): asserts token is string {
  if (typeof token === 'string' && /^[0-9a-f]{32}$/.test(token)) return
  throw expected(`${where}: token`, '32 lower-case hexadecimal digits, as the claim gave them', token)
}

function checkNames(names: unknown, where: string): asserts names is readonly string[] {
  if (!Array.isArray(names) || names.length === 0 || names.length > LIST_MAX) {
    throw expected(where, `1 to ${LIST_MAX} names`, names)
  }
  for (const name of names) checkName(name, where)
}

function expected(what: string, wanted: string, got: unknown): ChronosError {
  return new ChronosError('INVALID_OPTION', `${what}: expected ${wanted}, got ${shown(got)}`)
}
