import { type HttpMethod, type HttpRequest, httpRequest } from '../../../core/http/request.js'
import { enqueueOptions } from '../../../core/job/options.js'
import type { PartialPolicy } from '../../../core/policy/policy.js'
import { PRESETS, type PresetName } from '../../../core/policy/presets.js'
import { scheduleOptions } from '../../../core/schedule/options.js'
import { jobName } from '../../../core/values/limits.js'
import { present } from '../../../core/values/present.js'
import { object } from '../../../core/values/shape.js'
import type { NewJobBody } from '../../data/api.js'
import { parseJson, sendable } from '../../data/http.js'
import type { Option } from '../../parts/form/field.js'
import { textOf, wrongOnes } from '../../parts/form/form.js'
import { type Draft, valuesIn, type Wrong, wrongIn } from '../../parts/form/typed.js'
import { policyWords } from '../../policy/policy-words.js'

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

const { method, url, headers, body } = httpRequest.fields
const { job: name, payload } = scheduleOptions.fields
/** The schemas of these fields. */
export const CALL_FIELDS = { method, url, headers, body, name, payload }
export const NEW_JOB_FIELDS = { ...enqueueOptions.fields, ...CALL_FIELDS }

/** A new job as typed into the form. */
export const NEW_JOB = { ...CALL, queue: '', delay: '', priority: '', key: '', tags: '', retry: '', tenantId: '' }

type NewJobDraft = Draft<typeof NEW_JOB>

export function problemsOf(draft: NewJobDraft): Wrong {
  return { ...wrongIn(enqueueOptions, valuesIn(enqueueOptions.fields, draft)), ...callProblems(draft) }
}

const namedCall = object({ name: jobName })

export function callProblems(draft: CallDraft): Wrong {
  const isHttp = draft.kind.value === 'http'
  return {
    ...(isHttp ? wrongIn(httpRequest, requestOf(draft)) : wrongIn(namedCall, present({ name: textOf(draft.name) }))),
    ...wrongOnes({
      headers: isHttp && headersOf(draft.headers.value) === undefined ? CALL_FIELDS.headers.about.hint : undefined,
      payload: !isHttp && parsed(draft.payload.value) === undefined ? 'Not JSON' : undefined,
    }),
  }
}

export function bodyOf(draft: NewJobDraft): NewJobBody {
  return {
    ...(draft.kind.value === 'http'
      ? { http: requestOf(draft) }
      : { name: draft.name.value.trim(), payload: parsed(draft.payload.value)!.value }),
    ...valuesIn(enqueueOptions.fields, draft),
  }
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
