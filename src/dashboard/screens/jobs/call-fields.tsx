import { Field, Input, Segmented, Select, TextArea } from '../../parts/form/field.js'
import { type CallDraft, METHODS } from './new-job-draft.js'

interface CallFieldsProps {
  readonly draft: CallDraft
  /** The errors by field. */
  readonly wrong: Readonly<Record<string, string>>
  readonly autoFocus?: boolean | undefined
}

/** The fields of an HTTP call, or of a job with a name and a payload. */
export function CallFields(props: CallFieldsProps) {
  const { kind } = props.draft
  return (
    <>
      <Segmented
        label="Kind of job"
        value={kind.value}
        options={[
          { value: 'http', text: 'Call a URL' },
          { value: 'name', text: 'Run a named job' },
        ]}
        onChange={next => {
          kind.value = next
        }}
      />
      {kind.value === 'http' ? <HttpFields {...props} /> : <NameFields {...props} />}
    </>
  )
}

function HttpFields({ draft, wrong, autoFocus }: CallFieldsProps) {
  return (
    <>
      <div class="row top">
        <Field label="Method">
          <Select
            value={draft.method.value}
            options={METHODS}
            onChange={method => {
              draft.method.value = method
            }}
          />
        </Field>
        <div class="grow">
          <Field label="URL" problem={wrong['url'] || undefined}>
            <Input
              value={draft.url}
              type="url"
              mono
              placeholder="https://api.example.com/charge"
              autoFocus={autoFocus}
            />
          </Field>
        </div>
      </div>
      <Field label="Headers" hint="One per line: name: value" problem={wrong['headers']}>
        <TextArea value={draft.headers} rows={2} mono />
      </Field>
      <Field label="Body" hint="JSON is sent as JSON, anything else as text" problem={wrong['body']}>
        <TextArea value={draft.body} rows={4} mono />
      </Field>
    </>
  )
}

function NameFields({ draft, wrong, autoFocus }: CallFieldsProps) {
  return (
    <>
      <Field label="Name" hint="A job that a worker handles" problem={wrong['name'] || undefined}>
        <Input value={draft.name} mono placeholder="charge-card" autoFocus={autoFocus} />
      </Field>
      <Field label="Payload" hint="JSON" problem={wrong['payload']}>
        <TextArea value={draft.payload} rows={6} mono />
      </Field>
    </>
  )
}
