import { type Signal, useSignal } from '@preact/signals'
import { type EndpointView, type WebhookEvent, webhookInput } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { isTenant } from '../../data/session.js'
import { Editor } from '../../parts/form/editor.js'
import { Checkbox } from '../../parts/form/field.js'
import { Fields, TypedField, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
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
    concurrency: String(webhook?.concurrency ?? ''),
    rate: String(webhook?.rate ?? ''),
  })
  const events = useSignal<ReadonlySet<WebhookEvent>>(new Set(webhook?.events ?? ['job.dead']))
  const form = formOf(webhookInput, draft, {
    events: EVENT_NAMES.filter(name => events.value.has(name)),
    ...(draft.retry.value === 'own' && { retry: webhook?.retry }),
  })
  return (
    <Editor
      as="drawer"
      title={webhook ? 'Edit webhook' : 'New webhook'}
      verb={webhook ? 'Save webhook' : 'Create webhook'}
      onClose={onClose}
      isReady={form.isReady}
      onSave={() =>
        act({
          run: (): Promise<Saved> =>
            webhook ? api.webhooks.put(webhook.id, form.body) : api.webhooks.create(form.body),
          done: webhook ? 'Saved the webhook' : 'Created the webhook',
          after,
        })
      }
    >
      <TypedField {...form} name="url" autoFocus />
      <Events events={events} problem={form.wrong['events']} />
      <Fields
        {...form}
        fields={[
          'queues',
          'names',
          { name: 'retry', options: policiesFor(webhook?.retry) },
          'concurrency',
          'rate',
          !isTenant.value && 'tenantId',
        ]}
      />
    </Editor>
  )
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
