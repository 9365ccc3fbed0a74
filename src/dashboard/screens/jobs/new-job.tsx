import { type Signal, useSignal } from '@preact/signals'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { freshKey } from '../../data/clock.js'
import { isTenant } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { DurationInput, Field, Input, Select } from '../../parts/form/field.js'
import { Drawer } from '../../parts/layer/dialog.js'
import { href, segment } from '../../shell/router.js'
import { CallFields } from './call-fields.js'
import { bodyOf, type Draft, type METHODS, POLICIES, problemsOf, sampleOfBody } from './new-job-draft.js'

/** Creates a job: an HTTP call or a named job. */
export default function NewJob({ onClose = () => {} }: ScreenProps) {
  const draft = useDraft()
  const isBusy = useSignal(false)
  const key = useSignal(freshKey())
  const wrong = problemsOf(draft)
  const body = Object.keys(wrong).length === 0 ? bodyOf(draft) : undefined
  const create = async (isLast: boolean): Promise<void> => {
    if (!body || isBusy.value) return
    isBusy.value = true
    const made = await act({
      run: () => api.jobs.create(body, key.value),
      done: ({ id, name, status }) => ({
        text: status === 'existing' ? `A job ${name} with this key already exists` : `Enqueued job ${name}`,
        tone: 'ok',
        link: { href: href(`/jobs/${segment(id)}`), text: 'Open job' },
      }),
    })
    isBusy.value = false
    if (!made) return
    // The next submission is a new job, even with the same content.
    key.value = freshKey()
    if (isLast) onClose()
  }
  return (
    <Drawer
      title="New job"
      onClose={onClose}
      foot={
        <>
          <Button tone="primary" disabled={!body} busy={isBusy.value} onPress={() => void create(true)}>
            Enqueue
          </Button>
          <Button disabled={!body} onPress={() => void create(false)}>
            Enqueue and create another
          </Button>
          <Button tone="quiet" onPress={onClose}>
            Close
          </Button>
        </>
      }
    >
      <form
        class="stack loose"
        onSubmit={event => {
          event.preventDefault()
          void create(true)
        }}
      >
        <CallFields draft={draft} wrong={wrong} autoFocus />
        <Options draft={draft} wrong={wrong} />
        {body && <CodeSample sample={sampleOfBody(body)} label="Job as code" />}
      </form>
    </Drawer>
  )
}

function useDraft(): Draft {
  const text = (initial = ''): Signal<string> => useSignal(initial)
  return {
    kind: useSignal<'http' | 'name'>('http'),
    name: text(),
    payload: text('{}'),
    method: useSignal<(typeof METHODS)[number]>('POST'),
    url: text(),
    headers: text(),
    body: text(),
    queue: text(),
    delay: text(),
    priority: text('5'),
    key: text(),
    tags: text(),
    policy: useSignal<(typeof POLICIES)[number]['value']>(''),
    tenantId: text(),
  }
}

interface FieldsProps {
  readonly draft: Draft
  readonly wrong: Readonly<Record<string, string>>
}

function Options({ draft, wrong }: FieldsProps) {
  return (
    <div class="fields">
      <Field label="Queue">
        <Input value={draft.queue} placeholder="default" />
      </Field>
      <Field label="Delay" hint="Before the first attempt" problem={wrong['delay']}>
        <DurationInput value={draft.delay} placeholder="none" />
      </Field>
      <Field label="Priority" hint="9 first, 0 last" problem={wrong['priority']}>
        <Input value={draft.priority} type="number" min={0} max={9} />
      </Field>
      <Field label="Retries">
        <Select
          value={draft.policy.value}
          options={POLICIES}
          onChange={policy => {
            draft.policy.value = policy
          }}
        />
      </Field>
      <Field label="Key" hint="Idempotency key: a second job with this key is not created">
        <Input value={draft.key} mono />
      </Field>
      <Field label="Tags" hint="Separated by commas">
        <Input value={draft.tags} />
      </Field>
      {!isTenant.value && (
        <Field label="Tenant" hint="The owner of the job">
          <Input value={draft.tenantId} />
        </Field>
      )}
    </div>
  )
}
