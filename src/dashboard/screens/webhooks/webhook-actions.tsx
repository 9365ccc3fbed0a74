import { useSignal } from '@preact/signals'
import type { EndpointView } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may } from '../../data/session.js'
import { Menu } from '../../parts/menu.js'
import { go, href, segment } from '../../shell/router.js'
import { WebhookForm } from './webhook-form.js'
import { RecoverDialog } from './webhook-recover.js'
import { SecretDialog } from './webhook-secret.js'

export function testWebhook({ id }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.webhooks.test(id),
    done: ({ id: jobId }) => ({
      text: 'A test is on its way',
      tone: 'ok',
      link: { href: href(`/jobs/${segment(jobId)}`), text: 'See how it goes' },
    }),
    after,
  })
}

/** Taken back by a press, so nobody is asked. */
export function enableWebhook({ id }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    run: () => api.webhooks.enable(id),
    done: 'Enabled: it is told again, from now on. What failed meanwhile can be recovered.',
    undo: () => api.webhooks.disable(id),
    after,
  })
}

export function disableWebhook({ id, url }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: 'Tell it nothing more?',
      effect: `What is on its way to ${url} ends as endpoint-disabled, and what happens meanwhile is not kept for it.`,
      verb: 'Disable',
      tone: 'danger',
    },
    run: () => api.webhooks.disable(id),
    done: 'Disabled',
    undo: () => api.webhooks.enable(id),
    after,
  })
}

function deleteWebhook({ id, url }: EndpointView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: 'Delete this webhook?',
      effect: `${url} is told nothing more, and its secrets are gone; this can’t be undone. What is on its way to it ends as endpoint-disabled.`,
      verb: 'Delete',
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
  /** On its own page there are buttons beside it. */
  readonly isOnPage?: boolean
}

/** All that can be done with one, and the dialogs that come of it. */
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
          !isOnPage && { text: 'Send a test', icon: 'play', onPress: () => void testWebhook(webhook, after) },
          may('admin') && { text: 'Edit', icon: 'edit', onPress: () => (open.value = 'edit') },
          {
            text: 'Recover failed ones …',
            icon: 'redrive',
            hint: 'Sends again what failed since a time',
            onPress: () => (open.value = 'recover'),
          },
          may('admin') && {
            text: 'Rotate the secret',
            icon: 'tokens',
            hint: 'The old one signs beside it for a day',
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
      {open.value === 'edit' && (
        <WebhookForm
          webhook={webhook}
          onClose={close}
          onDone={() => {
            close()
            after()
          }}
        />
      )}
      {open.value === 'recover' && <RecoverDialog webhook={webhook} onClose={close} />}
      {secret.value !== undefined && (
        <SecretDialog
          title="The new secret"
          secret={secret.value}
          onClose={() => {
            secret.value = undefined
          }}
        />
      )}
    </>
  )
}

function rotate({ id, url }: EndpointView, after: () => void) {
  return act({
    confirm: {
      title: 'Make a new secret?',
      effect: `It is shown once. For a day messages to ${url} are signed with both, so that the receiver can change over.`,
      verb: 'Make a new one',
    },
    run: () => api.webhooks.rotateSecret(id),
    done: 'There is a new secret',
    after,
  })
}
