import { Segmented } from '../../parts/form/field.js'
import { TypedField } from '../../parts/form/form.js'
import type { Wrong } from '../../parts/form/typed.js'
import { CALL_FIELDS, type CallDraft } from './new-job-draft.js'

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

function HttpFields({ autoFocus, ...props }: CallFieldsProps) {
  const form = { ...props, of: CALL_FIELDS }
  return (
    <>
      <div class="row top">
        <TypedField {...form} name="method" />
        <div class="grow">
          <TypedField {...form} name="url" autoFocus={autoFocus} />
        </div>
      </div>
      <TypedField {...form} name="headers" kind="lines" rows={2} />
      <TypedField {...form} name="body" kind="lines" rows={4} />
    </>
  )
}

function NameFields({ autoFocus, ...props }: CallFieldsProps) {
  const form = { ...props, of: CALL_FIELDS }
  return (
    <>
      <TypedField {...form} name="name" kind="code" autoFocus={autoFocus} />
      <TypedField {...form} name="payload" kind="lines" rows={6} />
    </>
  )
}
