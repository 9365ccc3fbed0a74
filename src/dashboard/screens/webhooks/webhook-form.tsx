import { type Signal, useSignal } from '@preact/signals'
import type { EndpointInput, EndpointView, WebhookEvent } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { isTenant } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Checkbox, Field, Input, Select } from '../../parts/form/field.js'
import { Drawer } from '../../parts/layer/dialog.js'
import { POLICIES } from '../jobs/new-job-draft.js'
import { EVENT_NAMES, EVENTS } from './webhook-events.js'
import './webhook.css'

interface WebhookFormProps {
  /** Undefined for a new webhook. */
  readonly webhook?: EndpointView | undefined
  readonly onClose: () => void
  /** Called with the webhook, including the secret of a new one. */
  readonly onDone: (webhook: EndpointView & { readonly secret?: string }) => void
}

/** Creates or edits a webhook. */
export function WebhookForm({ webhook, onClose, onDone }: WebhookFormProps) {
  const url = useSignal(webhook?.url ?? '')
  const events = useSignal<ReadonlySet<WebhookEvent>>(new Set(webhook?.events ?? ['job.dead']))
  const queues = useSignal(webhook?.queues?.join(', ') ?? '')
  const names = useSignal(webhook?.names?.join(', ') ?? '')
  const tenantId = useSignal(webhook?.tenantId ?? '')
  const policy = useSignal<(typeof POLICIES)[number]['value'] | 'own'>(webhook?.retry ? 'own' : '')
  const isBusy = useSignal(false)
  const isUrl = /^https?:\/\/[^/\s]/.test(url.value.trim())
  const body: EndpointInput = {
    url: url.value.trim(),
    events: EVENT_NAMES.filter(name => events.value.has(name)),
    ...(listOf(queues.value).length > 0 && { queues: listOf(queues.value) }),
    ...(listOf(names.value).length > 0 && { names: listOf(names.value) }),
    ...(tenantId.value.trim() !== '' && { tenantId: tenantId.value.trim() }),
    ...(policy.value === 'own' ? { retry: webhook!.retry! } : policy.value !== '' && { retry: policy.value }),
  }
  const canSave = isUrl && body.events.length > 0
  const save = async (): Promise<void> => {
    if (!canSave || isBusy.value) return
    isBusy.value = true
    const saved = await act({
      run: (): Promise<EndpointView & { readonly secret?: string }> =>
        webhook ? api.webhooks.put(webhook.id, body) : api.webhooks.create(body),
      done: webhook ? 'Saved the webhook' : 'Created the webhook',
    })
    isBusy.value = false
    if (saved) onDone(saved)
  }
  return (
    <Drawer
      title={webhook ? 'Edit webhook' : 'New webhook'}
      onClose={onClose}
      foot={
        <>
          <Button tone="primary" disabled={!canSave} busy={isBusy.value} onPress={() => void save()}>
            {webhook ? 'Save webhook' : 'Create webhook'}
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
          void save()
        }}
      >
        <Field
          label="URL"
          hint="Receives signed POST requests"
          problem={url.value === '' || isUrl ? undefined : 'Must begin with http:// or https://'}
        >
          <Input value={url} type="url" mono placeholder="https://shop.example/hooks" autoFocus />
        </Field>
        <Events events={events} />
        <div class="fields">
          <Field label="Queues" hint="Only jobs of these queues; empty: all">
            <Input value={queues} placeholder="payments, mail" />
          </Field>
          <Field label="Job names" hint="Only jobs with these names; empty: all">
            <Input value={names} />
          </Field>
          <Field label="Retries" hint="For failed deliveries">
            <Select
              value={policy.value}
              options={[
                ...(webhook?.retry ? [{ value: 'own', text: 'Custom (unchanged)' } as const] : []),
                ...POLICIES,
              ]}
              onChange={next => {
                policy.value = next
              }}
            />
          </Field>
          {!isTenant.value && (
            <Field label="Tenant" hint="Only events of this tenant">
              <Input value={tenantId} />
            </Field>
          )}
        </div>
      </form>
    </Drawer>
  )
}

function Events({ events }: { readonly events: Signal<ReadonlySet<WebhookEvent>> }) {
  return (
    <fieldset class="webhook-events">
      <legend>Events</legend>
      {EVENT_NAMES.map(name => (
        <Checkbox
          key={name}
          on={events.value.has(name)}
          onChange={on => {
            const next = new Set(events.value)
            if (on) next.add(name)
            else next.delete(name)
            events.value = next
          }}
          label={
            <>
              <span class="mono">{name}</span> <span class="muted">{EVENTS[name]}</span>
            </>
          }
        />
      ))}
      {events.value.size === 0 && <p class="dead">Choose at least one event</p>}
    </fieldset>
  )
}

const listOf = (text: string): readonly string[] => text.split(',').flatMap(name => name.trim() || [])
