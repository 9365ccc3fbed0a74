import type { Signal } from '@preact/signals'
import type { HttpMethod, HttpRequest } from '../../../core/http/request.js'
import type { PartialPolicy } from '../../../core/policy/policy.js'
import { PRESETS, type PresetName } from '../../../core/policy/presets.js'
import { parseDuration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { NewJobBody } from '../../data/api.js'
import { parseJson, sendable } from '../../data/http.js'
import type { Option } from '../../parts/form/field.js'
import { type Draft, listOf, textOf, type Wrong, wrongOnes } from '../../parts/form/form.js'
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

/** Without a choice, the job, its queue or the default decides. */
const POLICIES: readonly Option<string>[] = [
  { value: '', text: 'Default' },
  ...(Object.keys(PRESETS) as PresetName[]).map(name => ({
    value: name,
    text: `${name}: ${policyWords(PRESETS[name])}`,
  })),
]

/** The choices of a field for retries. `own` keeps a policy that is no preset. */
export function policiesFor(own?: PartialPolicy): readonly Option<string>[] {
  return own ? [{ value: 'own', text: 'Custom (unchanged)' }, ...POLICIES] : POLICIES
}

/** An HTTP call or a named job as typed into the form. */
export const CALL = {
  kind: 'http' as 'http' | 'name',
  name: '',
  payload: '{}',
  method: 'POST' as HttpMethod,
  url: '',
  headers: '',
  body: '',
}

export type CallDraft = Draft<typeof CALL>

/** A new job as typed into the form. */
export const NEW_JOB = { ...CALL, queue: '', delay: '', priority: '5', key: '', tags: '', retry: '', tenantId: '' }

type NewJobDraft = Draft<typeof NEW_JOB>

export function problemsOf(draft: NewJobDraft): Wrong {
  return {
    ...callProblems(draft),
    ...wrongOnes({
      delay: durationProblem(draft.delay, 'Such as 30s, 5m or 2h'),
      priority: /^[0-9]$/.test(draft.priority.value) ? undefined : '0 to 9',
    }),
  }
}

export function callProblems(draft: CallDraft): Wrong {
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

/** A duration may be absent, but not misspelt. */
export function durationProblem(typed: Signal<string>, says: string): string | undefined {
  const text = textOf(typed)
  return text === undefined || parseDuration(text) !== undefined ? undefined : says
}

export function bodyOf(draft: NewJobDraft): NewJobBody {
  const tags = listOf(draft.tags.value)
  return present({
    ...(draft.kind.value === 'http'
      ? { http: requestOf(draft) }
      : { name: draft.name.value.trim(), payload: parsed(draft.payload.value)!.value }),
    queue: textOf(draft.queue),
    delay: textOf(draft.delay) as NewJobBody['delay'],
    priority: draft.priority.value === '5' ? undefined : Number(draft.priority.value),
    key: textOf(draft.key),
    tags: tags.length === 0 ? undefined : tags,
    retry: textOf(draft.retry) as NewJobBody['retry'],
    tenantId: textOf(draft.tenantId),
  })
}

export function requestOf({ method, url, headers, body }: CallDraft): HttpRequest {
  const own = headersOf(headers.value) ?? {}
  return present({
    method: method.value,
    url: url.value.trim(),
    headers: Object.keys(own).length === 0 ? undefined : own,
    body: body.value === '' ? undefined : (parsed(body.value)?.value ?? body.value),
  })
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
