import { type Signal, signal } from '@preact/signals'
import type { HttpRequest } from '../../../core/http/request.js'
import type { PartialPolicy } from '../../../core/policy/policy.js'
import { PRESETS, type PresetName } from '../../../core/policy/presets.js'
import type { Overlap } from '../../../core/schedule/schedule.js'
import type { Duration } from '../../../core/values/duration.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { asCurl, asLiteral, quoted, type Sample } from '../../data/copy.js'
import { clockText } from '../../data/format.js'
import { jsonText } from '../../parts/json.js'
import { segment } from '../../shell/router.js'
import {
  type CallDraft,
  callProblems,
  isDuration,
  METHODS,
  parsed,
  requestOf,
  wrongOnes,
} from '../jobs/new-job-draft.js'
import { saidBy } from './schedule-actions.js'
import { type MissedChoice, missedChoice } from './schedule-words.js'

/** A schedule as typed into the form. */
export interface ScheduleDraft extends CallDraft {
  readonly id: Signal<string>
  readonly when: Signal<'cron' | 'every'>
  readonly cron: Signal<string>
  readonly every: Signal<string>
  readonly timeZone: Signal<string>
  /** Local time. */
  readonly startAt: Signal<string>
  readonly endAt: Signal<string>
  readonly splay: Signal<string>
  readonly overlap: Signal<Overlap>
  readonly missed: Signal<MissedChoice>
  readonly missedMax: Signal<string>
  readonly isOnce: Signal<boolean>
  readonly queue: Signal<string>
  readonly priority: Signal<string>
  /** `own`: a policy that is not a preset. */
  readonly policy: Signal<PresetName | '' | 'own'>
  readonly timeout: Signal<string>
  readonly tags: Signal<string>
  readonly tenantId: Signal<string>
  /** The schedule that the form started with. */
  readonly from: ScheduleView | undefined
}

const MISSED_MAX = '24'

export function draftOf(from: ScheduleView | undefined, id: string): ScheduleDraft {
  const isHttp = from === undefined || from.job === 'http'
  const call = isHttp ? ((from?.payload ?? {}) as Partial<HttpRequest>) : {}
  const missed = from?.missed ?? 'run-once'
  return {
    from,
    id: signal(id),
    when: signal(from?.every === undefined ? 'cron' : 'every'),
    cron: signal(from?.cron ?? (from ? '' : '0 9 * * MON-FRI')),
    every: signal(String(from?.every ?? '')),
    timeZone: signal(from?.timeZone ?? 'UTC'),
    startAt: signal(localText(from?.startAt)),
    endAt: signal(localText(from?.endAt)),
    splay: signal(String(from?.splay ?? '')),
    overlap: signal(from?.overlap ?? 'skip'),
    missed: signal(missedChoice(missed)),
    missedMax: signal(typeof missed === 'object' ? String(missed.all) : MISSED_MAX),
    isOnce: signal(from?.recurring === false),
    kind: signal(isHttp ? 'http' : 'name'),
    name: signal(isHttp ? '' : from.job),
    payload: signal(isHttp ? '{}' : jsonText(from.payload)),
    method: signal(methodOf(call)),
    url: signal(call.url ?? ''),
    headers: signal(
      Object.entries(call.headers ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
    ),
    body: signal(bodyText(call.body)),
    queue: signal(from?.queue ?? ''),
    priority: signal(String(from?.priority ?? 5)),
    policy: signal(policyOf(from?.retry)),
    timeout: signal(String(from?.timeout ?? '')),
    tags: signal(from?.tags.join(', ') ?? ''),
    tenantId: signal(from?.tenantId ?? ''),
  }
}

const localText = (at: string | undefined): string =>
  at === undefined ? '' : clockText(Date.parse(at), 'local').replace(' ', 'T')

function methodOf({ method, body, url }: Partial<HttpRequest>): (typeof METHODS)[number] {
  const asked = method?.toUpperCase() ?? (body === undefined && url !== undefined ? 'GET' : 'POST')
  return METHODS.find(each => each === asked) ?? 'POST'
}

/** Text that would parse as JSON is encoded as a JSON string, so that it stays text. */
function bodyText(body: unknown): string {
  if (body === undefined) return ''
  return typeof body === 'string' && parsed(body) === undefined ? body : jsonText(body)
}

function policyOf(retry: PartialPolicy | undefined): PresetName | '' | 'own' {
  if (retry === undefined) return ''
  const text = canonical(retry)
  const names = Object.keys(PRESETS) as PresetName[]
  return names.find(name => canonical(PRESETS[name]) === text) ?? 'own'
}

/** Equal values have the same text, regardless of key order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}

/** The timing as an API body; undefined while it is incomplete. */
export function timingOf(draft: ScheduleDraft): Readonly<Record<string, unknown>> | undefined {
  const { when, cron, every, timeZone, splay, from } = draft
  const expression = (when.value === 'cron' ? cron : every).value.trim()
  if (expression === '' || (when.value === 'every' && !isDuration(expression))) return undefined
  return given({
    [when.value]: expression,
    timeZone: timeZone.value.trim() === 'UTC' ? undefined : timeZone.value.trim() || undefined,
    startAt: moment(draft.startAt.value, from?.startAt),
    endAt: moment(draft.endAt.value, from?.endAt),
    splay: isDuration(splay.value) ? splay.value.trim() : undefined,
  })
}

/** An unchanged time keeps its precision. */
function moment(text: string, before: string | undefined): string | undefined {
  if (text === '') return undefined
  if (text === localText(before)) return before
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

const given = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const NAME = /^\S.{0,254}$/
const lasts = (text: string): boolean => text.trim() === '' || isDuration(text.trim())

/** The errors by field. A required field that is empty has an empty error. */
export function scheduleProblems(draft: ScheduleDraft): Readonly<Record<string, string>> {
  const { id, when, cron, every, splay, timeout, priority, missed, missedMax } = draft
  return {
    ...callProblems(draft),
    ...wrongOnes({
      id: NAME.test(id.value.trim()) ? undefined : '',
      cron: when.value === 'cron' && cron.value.trim() === '' ? '' : undefined,
      every: when.value === 'every' ? everyProblem(every.value.trim()) : undefined,
      splay: lasts(splay.value) ? undefined : 'Such as 30s or 5m, at most 1h',
      timeout: lasts(timeout.value) ? undefined : 'Such as 30s or 5m',
      priority: /^[0-9]$/.test(priority.value) ? undefined : '0 to 9',
      missedMax: missed.value !== 'all' || /^([1-9]\d?|100)$/.test(missedMax.value) ? undefined : '1 to 100',
    }),
  }
}

const everyProblem = (text: string): string | undefined =>
  text === '' ? '' : isDuration(text) ? undefined : 'Such as 30s, 15m or 2h'

/** The API body. Settings without a field keep their values. */
export function scheduleBody(draft: ScheduleDraft): Readonly<Record<string, unknown>> {
  const text = (value: Signal<string>): string | undefined => value.value.trim() || undefined
  const { delivery, webhook, fingerprint, dependsOn } = draft.from ? saidBy(draft.from) : {}
  const { missed, overlap, isOnce, policy, priority, from } = draft
  const tags = draft.tags.value.split(',').flatMap(tag => tag.trim() || [])
  return given({
    ...timingOf(draft),
    ...whatOf(draft),
    queue: text(draft.queue),
    priority: priority.value === '5' ? undefined : Number(priority.value),
    retry: policy.value === 'own' ? from?.retry : policy.value || undefined,
    timeout: text(draft.timeout) as Duration | undefined,
    tags: tags.length === 0 ? undefined : tags,
    tenantId: text(draft.tenantId),
    overlap: overlap.value === 'skip' ? undefined : overlap.value,
    missed:
      missed.value === 'all'
        ? { all: Number(draft.missedMax.value) }
        : missed.value === 'skip'
          ? missed.value
          : undefined,
    recurring: isOnce.value ? false : undefined,
    delivery,
    webhook,
    fingerprint,
    dependsOn,
  })
}

function whatOf(draft: ScheduleDraft): object {
  if (draft.kind.value === 'name') {
    const { value } = parsed(draft.payload.value) ?? { value: null }
    return { job: draft.name.value.trim(), payload: value ?? undefined }
  }
  // Settings of the request without a field keep their values.
  const {
    method: _,
    url: _url,
    headers: _headers,
    body: _body,
    ...finer
  } = draft.from?.job === 'http' ? (draft.from.payload as HttpRequest) : ({} as HttpRequest)
  return { http: { ...requestOf(draft), ...finer } }
}

/** The schedule as code in three languages. */
export function scheduleSample(id: string, body: Readonly<Record<string, unknown>>): Sample {
  return {
    curl: asCurl('PUT', `/schedules/${segment(id)}`, body),
    ts: `await chronos.schedules.put(${asLiteral(id)}, ${asLiteral(body)})`,
    cli: [`chronos schedules put ${quoted(id)}`, ...flagsOf(body)].join(' ') + finerOf(body),
  }
}

/** The command has no flags for these. */
function finerOf({ http }: { readonly http?: HttpRequest }): string {
  return http?.body === undefined && http?.headers === undefined
    ? ''
    : '\n# headers and a body: with chronos http --schedule, curl or TypeScript'
}

const FLAGS: Readonly<Record<string, string>> = {
  timeZone: 'tz',
  startAt: 'start-at',
  endAt: 'end-at',
  tenantId: 'tenant',
}
const LEFT_OUT = new Set(['http', 'tags', 'recurring', 'missed', 'delivery', 'webhook', 'fingerprint', 'dependsOn'])

function flagsOf(body: Readonly<Record<string, unknown>>): readonly string[] {
  const {
    http,
    tags = [],
    recurring,
    missed,
  } = body as {
    http?: HttpRequest
    tags?: readonly string[]
    recurring?: false
    missed?: 'skip' | { all: number }
  }
  const word = (value: unknown): string => quoted(typeof value === 'string' ? value : JSON.stringify(value))
  return [
    ...Object.entries(body).flatMap(([key, value]) =>
      LEFT_OUT.has(key) ? [] : `--${FLAGS[key] ?? key} ${word(value)}`,
    ),
    ...(http ? [`--call ${quoted(http.url)}`, ...(http.method === 'POST' ? [] : [`--method ${http.method}`])] : []),
    ...(missed ? [`--missed ${typeof missed === 'object' ? `all:${missed.all}` : missed}`] : []),
    ...(recurring === false ? ['--once'] : []),
    ...tags.map(tag => `--tag ${quoted(tag)}`),
  ]
}
