import { useSignal } from '@preact/signals'
import type { EndpointView } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may } from '../../data/session.js'
import { Menu } from '../../parts/layer/menu.js'
import { go, pageOf } from '../../shell/router.js'
import { WebhookEditor } from './webhook-editor.js'
import { RecoverDialog } from './webhook-recover.js'
import { SecretDialog } from './webhook-secret.js'

export function testWebhook({ id }: EndpointView, after: () => void): Promise<unknown> {
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
export function enableWebhook({ id }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.webhooks.enable(id),
    done: 'Enabled the webhook. Failed deliveries can be recovered.',
    undo: () => api.webhooks.disable(id),
    after,
  })
}

export function disableWebhook({ id, url }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: 'Disable this webhook?',
      effect: `Pending deliveries to ${url} end as endpoint-disabled. Events are not stored for it while it is disabled.`,
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
      effect: `${url} gets no more deliveries, and its secrets are removed. Pending deliveries end as endpoint-disabled. This can’t be undone.`,
      verb: 'Delete webhook',
      tone: 'danger',
    },
    run: () => api.webhooks.delete(id),
    done: 'Deleted the webhook',
    after,
  })
}

interface WebhookMenuProps {
  readonly webhook: EndpointView
  readonly after: () => void
  /** The page of the webhook has buttons for the other actions. */
  readonly isOnPage?: boolean
}

/** The actions for a webhook and their dialogs. */
export function WebhookMenu({ webhook, after, isOnPage = false }: WebhookMenuProps) {
  const open = useSignal<'edit' | 'recover' | undefined>(undefined)
  const secret = useSignal<string | undefined>(undefined)
  const close = (): void => {
    open.value = undefined
  }
  if (!may('operator')) return null
  const isEnabled = webhook.state === 'enabled'
  return (
    <>
      <Menu
        label={`Actions for ${webhook.url}`}
        size={isOnPage ? 'md' : 'sm'}
        items={[
          !isOnPage && { text: 'Send test', icon: 'play', onPress: () => void testWebhook(webhook, after) },
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
          isEnabled
            ? { text: 'Disable', icon: 'pause', onPress: () => void disableWebhook(webhook, after) }
            : !isOnPage && { text: 'Enable', icon: 'play', onPress: () => void enableWebhook(webhook, after) },
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
        <SecretDialog title="New secret" secret={secret.value} onClose={() => (secret.value = undefined)} />
      )}
    </>
  )
}

function rotate({ id, url }: EndpointView, after: () => void) {
  return act({
    confirm: {
      title: 'Rotate the secret?',
      effect: `The new secret is shown once. Deliveries to ${url} are signed with both secrets for a day, so that the receiver can switch.`,
      verb: 'Rotate secret',
    },
    run: () => api.webhooks.rotateSecret(id),
    done: 'Rotated the secret',
    after,
  })
}
