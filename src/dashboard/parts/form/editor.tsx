import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Button } from '../button.js'
import type { IconName } from '../icon.js'
import { Dialog, Drawer } from '../layer/dialog.js'

export interface EditorProps {
  readonly title: string
  readonly onClose: () => void
  /** The text of the button that saves. */
  readonly verb: string
  readonly icon?: IconName | undefined
  readonly tone?: 'primary' | 'danger' | undefined
  /** The text of the button that closes a dialog. */
  readonly cancel?: string | undefined
  /** Whether what was typed can be saved. */
  readonly isReady: boolean
  /** Why it can't be saved; shown beside the button. */
  readonly why?: string | undefined
  /** Saves. The editor closes if the result is not undefined. */
  readonly onSave: () => Promise<unknown>
  readonly more?: ComponentChildren | undefined
  /** A drawer has room for long forms. */
  readonly as?: 'dialog' | 'drawer' | undefined
  readonly size?: 'sm' | 'md' | 'lg' | undefined
  readonly children: ComponentChildren
}

export const SOME_WRONG = 'Some fields are missing or wrong.'

/** A form in a layer: saves once at a time, and closes when it is saved. */
export function Editor(props: EditorProps) {
  const { title, onClose, verb, icon, tone = 'primary', cancel = 'Cancel' } = props
  const { isReady, why = SOME_WRONG, onSave, more, as, size, children } = props
  const isBusy = useSignal(false)
  const save = async (): Promise<void> => {
    if (!isReady || isBusy.value) return
    isBusy.value = true
    const saved = await onSave()
    isBusy.value = false
    if (saved !== undefined) onClose()
  }
  const submit = (
    <Button text={verb} tone={tone} icon={icon} disabled={!isReady} busy={isBusy.value} onPress={() => void save()} />
  )
  const form = (
    <form
      class="stack loose"
      onSubmit={event => {
        event.preventDefault()
        void save()
      }}
    >
      {children}
      {/* Enter submits a form with several fields only if it has a submit button. */}
      <input type="submit" hidden />
    </form>
  )
  const reason = !isReady && <span class="muted editor-why">{why}</span>
  if (as === 'drawer') {
    const close = <Button text="Close" tone="quiet" onPress={onClose} />
    return <Drawer title={title} onClose={onClose} foot={[submit, reason, more, close]} children={form} />
  }
  const close = <Button text={cancel} onPress={onClose} />
  return <Dialog title={title} size={size} onClose={onClose} foot={[reason, more, close, submit]} children={form} />
}
