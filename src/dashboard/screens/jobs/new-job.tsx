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
import { bodyOf, NEW_JOB, NEW_JOB_FIELDS, policiesFor, problemsOf } from './new-job-draft.js'

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
        of={NEW_JOB_FIELDS}
        fields={[
          'queue',
          'delay',
          'priority',
          { name: 'retry', options: policiesFor() },
          { name: 'key', kind: 'code' },
          'tags',
          !isTenant.value && 'tenantId',
        ]}
      />
      {body && <CodeSample sample={sampleOfBody(body)} label="Job as code" />}
    </Editor>
  )
}
