import { parseHttpRequest } from '../../../core/http/request.js'
import { shown } from '../../../core/values/error.js'
import { present } from '../../../core/values/present.js'
import { HTTP_JOB } from '../../../engine/client/definition.js'
import { EXIT, usage } from '../../exit.js'
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

/** Options that do not apply to a schedule. */
const ONE_JOB = [
  'wait',
  'delay',
  'runAt',
  'deadline',
  'key',
  'unique',
  'uniqueMode',
  'uniqueFor',
  'uniqueMaxWait',
  'maxRetries',
  'maxElapsed',
  'dependsOn',
  'fingerprint',
  'webhook',
] as const

const dashed = (flag: string): string => flag.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/** Without a method, commander puts the URL in its place. */
export async function enqueueCall(
  first: string,
  second: string | undefined,
  flags: HttpFlags,
  io: Io,
): Promise<number> {
  const [method, url] = second === undefined ? [undefined, first] : [first, second]
  const { timeout, cron, tz, schedule, ...job } = flags
  const body = flags.data === undefined ? undefined : (await readText(flags.data, io, '--data')).text
  const request = present({
    method,
    url,
    headers: headersOf(flags.header ?? [], body),
    body,
    timeout,
    expectedStatuses: flags.expect?.split(',').map(statusOf),
    followRedirects: flags.followRedirects,
    retryClientErrors: flags.retryClientErrors,
    captureBody: flags.captureBody ? undefined : false,
  })
  // Checked here too, so that an error names what was typed.
  parseHttpRequest(request, 'http')
  if (cron === undefined) return addJob(HTTP_JOB, request, job, io)
  const single = ONE_JOB.find(flag => job[flag] !== undefined)
  if (single !== undefined) {
    throw usage(`--${dashed(single)} applies to one job and cannot be used with --cron`)
  }
  const call = present({ ...job, cron, tz, job: HTTP_JOB, payload: JSON.stringify(request) })
  await putSchedule(schedule ?? new URL(url).hostname, call, io)
  return EXIT.ok
}

/** A JSON body gets a JSON content type unless a header sets one. */
function headersOf(lines: readonly string[], body: string | undefined): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = /^([^:]+):\s*(.*)$/s.exec(line) ?? []
    if (name === undefined || value === undefined) {
      throw usage(`--header: expected 'Name: value', got ${shown(line.split(':')[0])}`)
    }
    headers[name.trim()] = value
  }
  const isTyped = Object.keys(headers).some(name => name.toLowerCase() === 'content-type')
  if (body !== undefined && !isTyped && isJson(body)) headers['content-type'] = 'application/json'
  return Object.keys(headers).length === 0 ? undefined : headers
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
