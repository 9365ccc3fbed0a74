import { parseHttpRequest } from '../../../core/http/request.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { HTTP_JOB } from '../../../engine/client/definition.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { readText } from '../enqueue/payload.js'
import { addJob, type EnqueueFlags } from '../enqueue/run.js'
import { putSchedule } from '../schedules/put.js'

interface HttpFlags extends EnqueueFlags {
  readonly header?: readonly string[]
  readonly data?: string
  readonly expect?: string
  readonly followRedirects?: number
  readonly retryClientErrors?: true
  readonly captureBody: boolean
  readonly cron?: string
  readonly tz?: string
  readonly schedule?: string
}

/** What makes no sense for a job that comes again and again. */
const ONE_JOB = [
  'wait',
  'delay',
  'runAt',
  'deadline',
  'key',
  'unique',
  'maxRetries',
  'maxElapsed',
  'dependsOn',
  'fingerprint',
  'webhook',
] as const

const dashed = (flag: string): string => flag.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

export async function enqueueCall(
  [method, url]: readonly [method: string | undefined, url: string],
  flags: HttpFlags,
  io: Io,
): Promise<number> {
  const { timeout, ...rest } = flags
  const body = flags.data === undefined ? undefined : (await readText(flags.data, io, '--data')).text
  const request = {
    ...(method !== undefined && { method }),
    url,
    ...headersOf(flags.header ?? [], body),
    ...(body !== undefined && { body }),
    ...(timeout !== undefined && { timeout }),
    ...(flags.expect !== undefined && { expectedStatuses: flags.expect.split(',').map(statusOf) }),
    ...(flags.followRedirects !== undefined && { followRedirects: flags.followRedirects }),
    ...(flags.retryClientErrors && { retryClientErrors: true }),
    ...(!flags.captureBody && { captureBody: false }),
  }
  // Here as well, so that a mistake is named by what was typed.
  parseHttpRequest(request, 'http')
  const { cron, tz, schedule, ...job } = rest
  if (cron === undefined) return addJob(HTTP_JOB, request, job, io)
  const single = ONE_JOB.find(flag => job[flag] !== undefined)
  if (single !== undefined) {
    throw new ChronosError(
      'INVALID_OPTION',
      `--${dashed(single)} is for one job, and --cron makes many; give one of them`,
    )
  }
  const { store, url: server, token, config, json, log, queue, priority, retry, tenant, tag, atMostOnce } = job
  const kept = {
    store,
    url: server,
    token,
    config,
    json,
    log,
    queue,
    priority,
    retry,
    tenant,
    tag,
    atMostOnce,
    cron,
    tz,
  }
  const given = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
  const call = { ...given, job: HTTP_JOB, payload: JSON.stringify(request) }
  await putSchedule(schedule ?? new URL(url).hostname, call, io)
  return EXIT.ok
}

/** Text that is JSON is said to be JSON, unless somebody says what it is. */
function headersOf(lines: readonly string[], body: string | undefined): { headers?: Record<string, string> } {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = /^([^:]+):\s*(.*)$/s.exec(line) ?? []
    if (name === undefined || value === undefined) {
      throw new ChronosError('INVALID_OPTION', `--header: expected 'Name: value', got ${shown(line.split(':')[0])}`)
    }
    headers[name.trim()] = value
  }
  const isTyped = Object.keys(headers).some(name => name.toLowerCase() === 'content-type')
  if (body !== undefined && !isTyped && isJson(body)) headers['content-type'] = 'application/json'
  return Object.keys(headers).length === 0 ? {} : { headers }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const statusOf = (text: string): number | string => (/^\d+$/.test(text.trim()) ? Number(text.trim()) : text.trim())
