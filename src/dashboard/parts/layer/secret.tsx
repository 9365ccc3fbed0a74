import type { ComponentChildren } from 'preact'
import { Button } from '../button.js'
import { Copyable } from '../copyable.js'
import { Icon } from '../icon.js'
import { Dialog } from './dialog.js'

interface SecretDialogProps {
  readonly title: string
  readonly secret: string
  /** What it is called: `Token`. */
  readonly what: string
  /** Where it belongs: `in a safe place`. */
  readonly where: string
  readonly onClose: () => void
  readonly children?: ComponentChildren | undefined
}

/** Shows a new secret, once. */
export function SecretDialog({ title, secret, what, where, onClose, children }: SecretDialogProps) {
  const done = <Button text="Done" tone="primary" onPress={onClose} />
  return (
    <Dialog title={title} size="lg" onClose={onClose} foot={done}>
      <div class="stack">
        <p class="notice retry">
          <Icon name="warning" /> The {what.toLowerCase()} is shown only once. Store it {where}.
        </p>
        <p class="secret">
          <Copyable text={secret} what={what} />
        </p>
        {children}
      </div>
    </Dialog>
  )
}
