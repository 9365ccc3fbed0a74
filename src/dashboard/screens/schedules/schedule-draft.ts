import { type HttpRequest, METHODS } from '../../../core/http/request.js'
import { PRIORITY_DEFAULT } from '../../../core/job/job.js'
import type { PartialPolicy } from '../../../core/policy/policy.js'
import { PRESETS, type PresetName } from '../../../core/policy/presets.js'
import { scheduleId } from '../../../core/schedule/id.js'
import { CATCH_UP_MAX, type Overlap, scheduleOptions, timingOptions } from '../../../core/schedule/options.js'
import { present } from '../../../core/values/present.js'
import { about, integer } from '../../../core/values/schema.js'
import { object } from '../../../core/values/shape.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { flagsOf, quoted } from '../../data/command.js'
import { asCurl, asLiteral, type Sample } from '../../data/copy.js'
import { isoOf, localText } from '../../data/format.js'
import { draftOf, textOf } from '../../parts/form/form.js'
import { type Draft, valuesIn, type Wrong, wrongIn } from '../../parts/form/typed.js'
import { jsonText } from '../../parts/json.js'
import { segment } from '../../shell/router.js'
import { CALL, CALL_FIELDS, callProblems, parsed, requestOf } from '../jobs/new-job-draft.js'
import { saidBy } from './schedule-actions.js'
import { fieldOf } from './schedule-problems.js'
import { missedChoice } from './schedule-words.js'

const MISSED_MAX = '24'

const own = object({
  id: about(scheduleId, { label: 'Id', hint: 'Can’t be changed later', placeholder: 'weekly-digest' }),
})

/** The schemas of the fields. */
export const SCHEDULE_FIELDS = {
  ...scheduleOptions.fields,
  ...CALL_FIELDS,
  ...own.fields,
  missedMax: about(integer(1, CATCH_UP_MAX), { label: 'Maximum' }),
}

/** A schedule as typed into the form; times are local. */
function valuesOf(from: ScheduleView | undefined, id: string) {
  const isHttp = from === undefined || from.job === 'http'
  const call = isHttp ? ((from?.payload ?? {}) as Partial<HttpRequest>) : {}
  const missed = from?.missed ?? 'run-once'
  return {
    ...CALL,
    kind: isHttp ? ('http' as const) : ('name' as const),
    name: isHttp ? '' : from.job,
    payload: isHttp ? '{}' : jsonText(from.payload),
    method: methodOf(call),
    url: call.url ?? '',
    headers: Object.entries(call.headers ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    body: bodyText(call.body),
    id,
    when: from?.every === undefined ? ('cron' as 'cron' | 'every') : 'every',
    cron: from?.cron ?? (from ? '' : '0 9 * * MON-FRI'),
    every: String(from?.every ?? ''),
    timeZone: from?.timeZone ?? 'UTC',
    startAt: typed(from?.startAt),
    endAt: typed(from?.endAt),
    splay: String(from?.splay ?? ''),
    overlap: from?.overlap ?? ('skip' as Overlap),
    missed: missedChoice(missed),
    missedMax: typeof missed === 'object' ? String(missed.all) : MISSED_MAX,
    isOnce: from?.recurring === false,
    queue: from?.queue ?? '',
    priority: from === undefined || from.priority === PRIORITY_DEFAULT ? '' : String(from.priority),
    retry: policyOf(from?.retry),
    timeout: String(from?.timeout ?? ''),
    tags: from?.tags.join(', ') ?? '',
    tenantId: from?.tenantId ?? '',
  }
}

export type ScheduleValues = ReturnType<typeof valuesOf>

export interface ScheduleDraft {
  readonly draft: Draft<ScheduleValues>
  /** The schedule that the form started with. */
  readonly from: ScheduleView | undefined
}

export const scheduleDraft = (from: ScheduleView | undefined, id: string): ScheduleDraft => ({
  draft: draftOf(valuesOf(from, id)),
  from,
})

const typed = (at: string | undefined): string => (at === undefined ? '' : localText(Date.parse(at)))

function methodOf({ method, body, url }: Partial<HttpRequest>): (typeof METHODS)[number] {
  const asked = method?.toUpperCase() ?? (body === undefined && url !== undefined ? 'GET' : 'POST')
  return METHODS.find(each => each === asked) ?? 'POST'
}

/** Text that would parse as JSON is encoded as a JSON string, so that it stays text. */
function bodyText(body: unknown): string {
  if (body === undefined) return ''
  return typeof body === 'string' && parsed(body) === undefined ? body : jsonText(body)
}

/** `own`: a policy that is not a preset. */
function policyOf(retry: PartialPolicy | undefined): string {
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
export function timingOf(form: ScheduleDraft): Readonly<Record<string, unknown>> | undefined {
  const timing = typedTiming(form)
  const { cron, every } = timing
  return (cron ?? every) && Object.keys(wrongIn(timingOptions, timing)).length === 0 ? timing : undefined
}

function typedTiming({ draft, from }: ScheduleDraft): Readonly<Record<string, unknown>> {
  const { when, timeZone, splay, startAt, endAt } = draft
  return present({
    [when.value]: textOf(draft[when.value]),
    timeZone: timeZone.value.trim() === 'UTC' ? undefined : textOf(timeZone),
    startAt: moment(startAt.value, from?.startAt),
    endAt: moment(endAt.value, from?.endAt),
    splay: textOf(splay),
  })
}

/** An unchanged time keeps its precision. */
const moment = (text: string, before: string | undefined): string | undefined =>
  text === typed(before) ? before : isoOf(text)

export function scheduleProblems(form: ScheduleDraft): Wrong {
  const { draft } = form
  const { value: when } = draft.when
  return {
    ...wrongIn(own, present({ id: textOf(draft.id) })),
    ...wrongIn(scheduleOptions, scheduleBody(form), fieldOf),
    ...(textOf(draft[when]) === undefined && { [when]: '' }),
    ...callProblems(draft),
  }
}

const { queue, priority, timeout, tags, tenantId } = scheduleOptions.fields
const JOB_FIELDS = { queue, priority, timeout, tags, tenantId }

/** The API body. Settings without a field keep their values. */
export function scheduleBody(form: ScheduleDraft): Readonly<Record<string, unknown>> {
  const { draft, from } = form
  const { delivery, webhook, fingerprint, dependsOn } = from ? saidBy(from) : {}
  const { missed, overlap, isOnce, retry } = draft
  const { missedMax } = valuesIn(SCHEDULE_FIELDS, draft)
  return present({
    ...typedTiming(form),
    ...whatOf(form),
    ...valuesIn(JOB_FIELDS, draft),
    retry: retry.value === 'own' ? from?.retry : textOf(retry),
    overlap: overlap.value === 'skip' ? undefined : overlap.value,
    missed: { all: { all: missedMax }, skip: 'skip', 'run-once': undefined }[missed.value],
    recurring: isOnce.value ? false : undefined,
    delivery,
    webhook,
    fingerprint,
    dependsOn,
  })
}

function whatOf({ draft, from }: ScheduleDraft): object {
  if (draft.kind.value === 'name') {
    const { value } = parsed(draft.payload.value) ?? { value: null }
    return { job: draft.name.value.trim(), payload: value ?? undefined }
  }
  // Settings of the request without a field keep their values.
  const before = from?.job === 'http' ? (from.payload as HttpRequest) : undefined
  const { method: _, url: _url, headers: _headers, body: _body, ...finer } = before ?? ({} as HttpRequest)
  return { http: { ...requestOf(draft), ...finer } }
}

/** The schedule as code in three languages. */
export function scheduleSample(id: string, body: Readonly<Record<string, unknown>>): Sample {
  return {
    curl: asCurl('PUT', `/schedules/${segment(id)}`, body),
    ts: `await chronos.schedules.put(${asLiteral(id)}, ${asLiteral(body)})`,
    cli: commandOf(id, body),
  }
}

/** The fields that the command has flags for, under the names of the flags. */
function commandOf(id: string, body: Body): string {
  const { http, recurring, missed, delivery: _, webhook: _w, fingerprint: _f, dependsOn: _d, ...same } = body
  const flags = flagsOf({
    ...same,
    call: http?.url,
    method: http?.method === 'POST' ? undefined : http?.method,
    missed: typeof missed === 'object' ? `all:${missed.all}` : missed,
  })
  const once = recurring === false ? ['--once'] : []
  const command = [`chronos schedules put ${quoted(id)}`, ...flags, ...once].join(' ')
  if (http?.body === undefined && http?.headers === undefined) return command
  return `${command}\n# headers and a body: with chronos http --schedule, curl or TypeScript`
}

interface Body extends Readonly<Record<string, unknown>> {
  readonly http?: HttpRequest
  readonly recurring?: false
  readonly missed?: 'skip' | { readonly all: number }
}
