import type { Signal } from '@preact/signals'
import type { HttpMethod, HttpRequest } from '../../../core/http/request.js'
import type { PresetName } from '../../../core/policy/presets.js'
import { PRESETS } from '../../../core/policy/presets.js'
import { toMs } from '../../../core/values/duration.js'
import type { NewJobBody } from '../../data/api.js'
import { asCurl, asLiteral, quoted, type Sample } from '../../data/copy.js'
import { parseJson, sendable } from '../../data/http.js'
import { policyWords } from '../../policy/policy-words.js'

export const METHODS = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
] as const satisfies readonly HttpMethod[]

type Choice = PresetName | ''

/** Without a choice, the job, its queue or the default decides. */
export const POLICIES: readonly { readonly value: Choice; readonly text: string }[] = [
  { value: '', text: 'Default' },
  ...(Object.keys(PRESETS) as PresetName[]).map(name => ({
    value: name,
    text: `${name}: ${policyWords(PRESETS[name])}`,
  })),
]

/** An HTTP call or a named job as typed into the form. */
export interface CallDraft {
  readonly kind: Signal<'http' | 'name'>
  readonly name: Signal<string>
  readonly payload: Signal<string>
  readonly method: Signal<(typeof METHODS)[number]>
  readonly url: Signal<string>
  readonly headers: Signal<string>
  readonly body: Signal<string>
}

/** A new job as typed into the form. */
export interface Draft extends CallDraft {
  readonly queue: Signal<string>
  readonly delay: Signal<string>
  readonly priority: Signal<string>
  readonly key: Signal<string>
  readonly tags: Signal<string>
  readonly policy: Signal<Choice>
  readonly tenantId: Signal<string>
}

/** The errors by field. A required field that is empty has an empty error. */
export function problemsOf(draft: Draft): Readonly<Record<string, string>> {
  return {
    ...callProblems(draft),
    ...wrongOnes({
      delay: draft.delay.value === '' || isDuration(draft.delay.value) ? undefined : 'Such as 30s, 5m or 2h',
      priority: /^[0-9]$/.test(draft.priority.value) ? undefined : '0 to 9',
    }),
  }
}

export function callProblems(draft: CallDraft): Readonly<Record<string, string>> {
  const isHttp = draft.kind.value === 'http'
  const url = draft.url.value.trim()
  return wrongOnes({
    url:
      isHttp && !/^https?:\/\/[^/]/.test(url) ? (url === '' ? '' : 'Must begin with http:// or https://') : undefined,
    headers: isHttp && headersOf(draft.headers.value) === undefined ? 'One per line: name: value' : undefined,
    body: isHttp && draft.body.value !== '' && draft.method.value === 'GET' ? 'GET takes no body' : undefined,
    name: !isHttp && draft.name.value.trim() === '' ? '' : undefined,
    payload: !isHttp && parsed(draft.payload.value) === undefined ? 'Not JSON' : undefined,
  })
}

export function wrongOnes(found: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

export function bodyOf(draft: Draft): NewJobBody {
  const { kind, name, payload, queue, delay, priority, key, tags, policy, tenantId } = draft
  const text = (value: Signal<string>): string | undefined => value.value.trim() || undefined
  const what =
    kind.value === 'http'
      ? { http: requestOf(draft) }
      : { name: name.value.trim(), payload: parsed(payload.value)!.value }
  const allTags = tags.value.split(',').flatMap(tag => tag.trim() || [])
  return {
    ...what,
    ...(text(queue) && { queue: text(queue)! }),
    ...(text(delay) && { delay: text(delay)! as NonNullable<NewJobBody['delay']> }),
    ...(priority.value !== '5' && { priority: Number(priority.value) }),
    ...(text(key) && { key: text(key)! }),
    ...(allTags.length > 0 && { tags: allTags }),
    ...(policy.value !== '' && { retry: policy.value }),
    ...(text(tenantId) && { tenantId: text(tenantId)! }),
  }
}

export function requestOf({ method, url, headers, body }: CallDraft): HttpRequest {
  const own = headersOf(headers.value) ?? {}
  return {
    method: method.value,
    url: url.value.trim(),
    ...(Object.keys(own).length > 0 && { headers: own }),
    ...(body.value !== '' && { body: parsed(body.value)?.value ?? body.value }),
  }
}

function headersOf(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const pairs = lines.map(line => /^\s*([\w-]+)\s*:\s*(.*)$/.exec(line))
  return pairs.every(pair => pair !== null)
    ? Object.fromEntries(pairs.map(pair => [pair![1]!, pair![2]!.trim()]))
    : undefined
}

export function parsed(text: string): { readonly value: unknown } | undefined {
  if (text.trim() === '') return { value: null }
  try {
    return { value: sendable(parseJson(text)) }
  } catch {
    return undefined
  }
}

export function isDuration(text: string): boolean {
  try {
    toMs(text as Parameters<typeof toMs>[0], 'delay')
    return true
  } catch {
    return false
  }
}

/** The job as code in three languages. */
export function sampleOfBody(body: NewJobBody): Sample {
  const { http, name, payload, ...options } = body
  const more = Object.keys(options).length > 0 ? `, ${asLiteral(options)}` : ''
  const curl = asCurl('POST', '/jobs', body)
  const flags = flagsOf(options)
  if (http) {
    const data =
      http.body === undefined
        ? []
        : [`-d ${quoted(typeof http.body === 'string' ? http.body : JSON.stringify(http.body))}`]
    const cli = [`chronos http ${http.method ?? 'GET'} ${quoted(http.url)}`, ...data, ...flags].join(' ')
    return { curl, ts: `await chronos.http(${asLiteral(http)}${more})`, cli }
  }
  const cli = [`chronos enqueue ${quoted(name ?? '')} --payload ${quoted(JSON.stringify(payload))}`, ...flags].join(' ')
  return { curl, ts: `await chronos.enqueue(${asLiteral(name)}, ${asLiteral(payload)}${more})`, cli }
}

function flagsOf({ tags = [], ...options }: NewJobBody): string[] {
  return [
    ...Object.entries(options).map(([flag, value]) => `--${flag} ${quoted(String(value))}`),
    ...tags.map(tag => `--tag ${quoted(tag)}`),
  ]
}
