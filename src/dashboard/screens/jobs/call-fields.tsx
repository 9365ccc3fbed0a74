import { Segmented } from '../../parts/form/field.js'
import { TypedField, type Wrong } from '../../parts/form/form.js'
import { type CallDraft, METHODS } from './new-job-draft.js'

interface CallFieldsProps {
  readonly draft: CallDraft
  readonly wrong: Wrong
  readonly autoFocus?: boolean | undefined
}

const KINDS = [
  { value: 'http', text: 'Call a URL' },
  { value: 'name', text: 'Run a named job' },
] as const

/** The fields of an HTTP call, or of a job with a name and a payload. */
export function CallFields(props: CallFieldsProps) {
  const { kind } = props.draft
  return (
    <>
      <Segmented label="Kind of job" value={kind} options={KINDS} />
      {kind.value === 'http' ? <HttpFields {...props} /> : <NameFields {...props} />}
    </>
  )
}

const URL = { name: 'url', label: 'URL', kind: 'url', placeholder: 'https://api.example.com/charge' } as const
const HEADERS = {
  name: 'headers',
  label: 'Headers',
  hint: 'One per line: name: value',
  kind: 'lines',
  rows: 2,
} as const
const BODY = {
  name: 'body',
  label: 'Body',
  hint: 'JSON is sent as JSON, anything else as text',
  kind: 'lines',
  rows: 4,
} as const

function HttpFields({ autoFocus, ...form }: CallFieldsProps) {
  return (
    <>
      <div class="row top">
        <TypedField {...form} name="method" label="Method" options={METHODS} />
        <div class="grow">
          <TypedField {...form} {...URL} autoFocus={autoFocus} />
        </div>
      </div>
      <TypedField {...form} {...HEADERS} />
      <TypedField {...form} {...BODY} />
    </>
  )
}

const NAME = {
  name: 'name',
  label: 'Name',
  hint: 'A job that a worker handles',
  placeholder: 'charge-card',
  kind: 'code',
} as const

function NameFields({ autoFocus, ...form }: CallFieldsProps) {
  return (
    <>
      <TypedField {...form} {...NAME} autoFocus={autoFocus} />
      <TypedField {...form} name="payload" label="Payload" hint="JSON" kind="lines" rows={6} />
    </>
  )
}
