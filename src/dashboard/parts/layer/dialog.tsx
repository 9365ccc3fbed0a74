import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { hold } from '../../data/live.js'
import { IconButton } from '../button.js'

interface LayerProps {
  readonly title: ComponentChildren
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly foot?: ComponentChildren | undefined
}

export interface DialogProps extends LayerProps {
  readonly size?: 'sm' | 'md' | 'lg' | undefined
}

/** A modal dialog: the browser keeps the focus inside and closes it on Escape. */
export function Dialog({ size = 'md', ...layer }: DialogProps) {
  return <Layer {...layer} kind={`dialog ${size}`} />
}

export interface DrawerProps extends LayerProps {
  readonly from?: 'right' | 'left' | 'below' | undefined
}

/** A panel from the side, for forms and details of the page behind it. */
export function Drawer({ from = 'right', ...layer }: DrawerProps) {
  return <Layer {...layer} kind={`drawer ${from}`} />
}

/** The first field, or the button that submits: Enter must not press the button that closes the dialog. */
function firstOf(dialog: HTMLElement): HTMLElement | null {
  const field = dialog.querySelector<HTMLElement>('.content :is(input:not([hidden]), select, textarea)')
  return field ?? dialog.querySelector<HTMLElement>('footer .button:is(.primary, .danger)')
}

function Layer({ title, onClose, children, foot, kind }: LayerProps & { readonly kind: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    if (element && !element.open) {
      element.showModal()
      firstOf(element)?.focus()
    }
    const release = hold()
    return () => {
      release()
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={`layer ${kind}`}
      aria-labelledby={titleId}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={event => {
        // A click on the backdrop hits the dialog element itself.
        if (event.target === dialog.current) onClose()
      }}
    >
      <div class="sheet">
        <header>
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label="Close" shortcut="Esc" onPress={onClose} />
        </header>
        <div class="content">{children}</div>
        {foot !== undefined && <footer>{foot}</footer>}
      </div>
    </dialog>
  )
}
