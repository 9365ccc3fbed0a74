import { type Signal, useSignal } from '@preact/signals'
import { present } from '../../../core/values/present.js'
import type { EndpointInput, EndpointView, WebhookEvent } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { isTenant } from '../../data/session.js'
import { Editor } from '../../parts/form/editor.js'
import { Checkbox } from '../../parts/form/field.js'
import { Fields, listOf, TypedField, textOf, useDraft, wrongOnes } from '../../parts/form/form.js'
import { policiesFor } from '../jobs/new-job-draft.js'
import { EVENT_NAMES, EVENTS } from './webhook-events.js'
import './webhook.css'

type Saved = EndpointView & { readonly secret?: string }

interface WebhookEditorProps {
  /** Undefined for a new webhook. */
  readonly webhook?: EndpointView | undefined
  readonly onClose: () => void
  /** Called with the webhook, including the secret of a new one. */
  readonly after: (webhook: Saved) => void
}

export function WebhookEditor({ webhook, onClose, after }: WebhookEditorProps) {
  const draft = useDraft({
    url: webhook?.url ?? '',
    queues: webhook?.queues?.join(', ') ?? '',
    names: webhook?.names?.join(', ') ?? '',
    tenantId: webhook?.tenantId ?? '',
    retry: webhook?.retry ? 'own' : '',
  })
  const events = useSignal<ReadonlySet<WebhookEvent>>(new Set(webhook?.events ?? ['job.dead']))
  const wrong = wrongOnes({
    url: urlProblem(draft.url.value.trim()),
    events: events.value.size === 0 ? 'Choose at least one event' : undefined,
  })
  const body: EndpointInput = present({
    url: draft.url.value.trim(),
    events: EVENT_NAMES.filter(name => events.value.has(name)),
    queues: namesIn(draft.queues),
    names: namesIn(draft.names),
    tenantId: textOf(draft.tenantId),
    retry: draft.retry.value === 'own' ? webhook?.retry : (textOf(draft.retry) as EndpointInput['retry']),
  })
  return (
    <Editor
      as="drawer"
      title={webhook ? 'Edit webhook' : 'New webhook'}
      verb={webhook ? 'Save webhook' : 'Create webhook'}
      onClose={onClose}
      isReady={Object.keys(wrong).length === 0}
      onSave={() =>
        act({
          run: (): Promise<Saved> => (webhook ? api.webhooks.put(webhook.id, body) : api.webhooks.create(body)),
          done: webhook ? 'Saved the webhook' : 'Created the webhook',
          after,
        })
      }
    >
      <TypedField
        draft={draft}
        wrong={wrong}
        name="url"
        label="URL"
        hint="Receives signed POST requests"
        placeholder="https://shop.example/hooks"
        kind="url"
        autoFocus
      />
      <Events events={events} problem={wrong['events']} />
      <Fields
        draft={draft}
        fields={[
          {
            name: 'queues',
            label: 'Queues',
            hint: 'Only jobs of these queues; empty: all',
            placeholder: 'payments, mail',
          },
          { name: 'names', label: 'Job names', hint: 'Only jobs with these names; empty: all' },
          { name: 'retry', label: 'Retries', hint: 'For failed deliveries', options: policiesFor(webhook?.retry) },
          !isTenant.value && { name: 'tenantId', label: 'Tenant', hint: 'Only events of this tenant' },
        ]}
      />
    </Editor>
  )
}

function urlProblem(url: string): string | undefined {
  if (url === '') return ''
  return /^https?:\/\/[^/\s]/.test(url) ? undefined : 'Must begin with http:// or https://'
}

function namesIn({ value }: Signal<string>): readonly string[] | undefined {
  const names = listOf(value)
  return names.length === 0 ? undefined : names
}

interface EventsProps {
  readonly events: Signal<ReadonlySet<WebhookEvent>>
  readonly problem: string | undefined
}

function Events({ events, problem }: EventsProps) {
  const set = (name: WebhookEvent, isOn: boolean): void => {
    const others = [...events.value].filter(each => each !== name)
    events.value = new Set(isOn ? [...others, name] : others)
  }
  return (
    <fieldset class="webhook-events">
      <legend>Events</legend>
      {EVENT_NAMES.map(name => (
        <Checkbox
          key={name}
          value={events.value.has(name)}
          onChange={isOn => set(name, isOn)}
          label={
            <>
              <span class="mono">{name}</span> <span class="muted">{EVENTS[name]}</span>
            </>
          }
        />
      ))}
      {problem !== undefined && <p class="dead">{problem}</p>}
    </fieldset>
  )
}
