import { useSignal } from '@preact/signals'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { freshKey } from '../../data/clock.js'
import { isTenant } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Editor } from '../../parts/form/editor.js'
import { Fields, useDraft } from '../../parts/form/form.js'
import { pageOf } from '../../shell/router.js'
import { sampleOfBody } from '../job/job-sample.js'
import { CallFields } from './call-fields.js'
import { bodyOf, NEW_JOB, policiesFor, problemsOf } from './new-job-draft.js'

/** Creates a job: an HTTP call or a named job. */
export default function NewJob({ onClose = () => {} }: ScreenProps) {
  const draft = useDraft(NEW_JOB)
  const key = useSignal(freshKey())
  const wrong = problemsOf(draft)
  const body = Object.keys(wrong).length === 0 ? bodyOf(draft) : undefined
  const create = (): Promise<unknown> =>
    act({
      run: () => api.jobs.create(body!, key.value),
      done: ({ id, name, status }) => ({
        text: status === 'existing' ? `A job ${name} with this key already exists` : `Enqueued job ${name}`,
        tone: 'ok',
        link: { href: pageOf('jobs', id), text: 'Open job' },
      }),
      // The next submission is a new job, even with the same content.
      after: () => (key.value = freshKey()),
    })
  return (
    <Editor
      as="drawer"
      title="New job"
      verb="Enqueue"
      onClose={onClose}
      isReady={body !== undefined}
      onSave={create}
      more={<Button text="Enqueue and create another" disabled={!body} onPress={() => void create()} />}
    >
      <CallFields draft={draft} wrong={wrong} autoFocus />
      <Fields
        draft={draft}
        wrong={wrong}
        fields={[
          { name: 'queue', label: 'Queue', placeholder: 'default' },
          { name: 'delay', label: 'Delay', hint: 'Before the first attempt', placeholder: 'none', kind: 'duration' },
          { name: 'priority', label: 'Priority', hint: '9 first, 0 last', kind: 'number', min: 0, max: 9 },
          { name: 'retry', label: 'Retries', options: policiesFor() },
          {
            name: 'key',
            label: 'Key',
            hint: 'Idempotency key: a second job with this key is not created',
            kind: 'code',
          },
          { name: 'tags', label: 'Tags', hint: 'Separated by commas' },
          !isTenant.value && { name: 'tenantId', label: 'Tenant', hint: 'The owner of the job' },
        ]}
      />
      {body && <CodeSample sample={sampleOfBody(body)} label="Job as code" />}
    </Editor>
  )
}
