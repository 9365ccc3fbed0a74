import { useSignal } from '@preact/signals'
import { shownUrl } from '../../../core/http/shown-url.js'
import type { EndpointView } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may } from '../../data/session.js'
import { PageActions, RowActions } from '../../parts/layer/actions.js'
import { go, pageOf } from '../../shell/router.js'
import { WebhookEditor } from './webhook-editor.js'
import { RecoverDialog } from './webhook-recover.js'
import { WebhookSecret } from './webhook-secret.js'

function testWebhook({ id }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.webhooks.test(id),
    done: ({ id: jobId }) => ({
      text: 'Sent a test delivery',
      tone: 'ok',
      link: { href: pageOf('jobs', jobId), text: 'Open delivery' },
    }),
    after,
  })
}

/** Needs no confirmation, because it can be undone. */
function enableWebhook({ id }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.webhooks.enable(id),
    done: 'Enabled the webhook. Failed deliveries can be recovered.',
    undo: () => api.webhooks.disable(id),
    after,
  })
}

function disableWebhook({ id, url }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: 'Disable this webhook?',
      effect: `Pending deliveries to ${shownUrl(url)} end as endpoint-disabled. Events are not stored for it while it is disabled.`,
      verb: 'Disable webhook',
      tone: 'danger',
    },
    run: () => api.webhooks.disable(id),
    done: 'Disabled the webhook',
    undo: () => api.webhooks.enable(id),
    after,
  })
}

function deleteWebhook({ id, url }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: 'Delete this webhook?',
      effect: `${shownUrl(url)} gets no more deliveries, and its secrets are removed. Pending deliveries end as endpoint-disabled. This can’t be undone.`,
      verb: 'Delete webhook',
      tone: 'danger',
    },
    run: () => api.webhooks.delete(id),
    done: 'Deleted the webhook',
    after,
  })
}

interface WebhookActionsProps {
  readonly webhook: EndpointView
  readonly after: () => void
  readonly isOnPage?: boolean
}

/** The actions for a webhook and their dialogs. */
export function WebhookActions({ webhook, after, isOnPage = false }: WebhookActionsProps) {
  const open = useSignal<'edit' | 'recover' | undefined>(undefined)
  const secret = useSignal<string | undefined>(undefined)
  const close = (): void => {
    open.value = undefined
  }
  if (!may('operator')) return null
  const isEnabled = webhook.state === 'enabled'
  const Place = isOnPage ? PageActions : RowActions
  return (
    <>
      <Place
        label={`Actions for ${shownUrl(webhook.url)}`}
        actions={[
          !isEnabled && {
            text: 'Enable',
            icon: 'play',
            as: 'primary',
            onPress: () => void enableWebhook(webhook, after),
          },
          { text: 'Send test', icon: 'play', as: 'button', onPress: () => void testWebhook(webhook, after) },
          may('admin') && { text: 'Edit', icon: 'edit', onPress: () => (open.value = 'edit') },
          {
            text: 'Recover deliveries …',
            icon: 'redrive',
            hint: 'Redelivers failed deliveries since a time',
            onPress: () => (open.value = 'recover'),
          },
          may('admin') && {
            text: 'Rotate secret',
            icon: 'tokens',
            hint: 'The old secret stays valid for a day',
            onPress: () => void rotate(webhook, after).then(made => (secret.value = made?.secret)),
          },
          isEnabled && { text: 'Disable', icon: 'pause', onPress: () => void disableWebhook(webhook, after) },
          may('admin') && {
            text: 'Delete',
            icon: 'trash',
            tone: 'danger',
            onPress: () => void deleteWebhook(webhook, isOnPage ? () => go('/webhooks') : after),
          },
        ]}
      />
      {open.value === 'edit' && <WebhookEditor webhook={webhook} after={after} onClose={close} />}
      {open.value === 'recover' && <RecoverDialog webhook={webhook} onClose={close} />}
      {secret.value !== undefined && (
        <WebhookSecret title="New secret" secret={secret.value} onClose={() => (secret.value = undefined)} />
      )}
    </>
  )
}

function rotate({ id, url }: EndpointView, after: () => void) {
  return act({
    confirm: {
      title: 'Rotate the secret?',
      effect: `The new secret is shown once. Deliveries to ${shownUrl(url)} are signed with both secrets for a day, so that the receiver can switch.`,
      verb: 'Rotate secret',
    },
    run: () => api.webhooks.rotateSecret(id),
    done: 'Rotated the secret',
    after,
  })
}
