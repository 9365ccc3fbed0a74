import { useEffect, useRef } from 'preact/hooks'
import { announced, dismissToast, toasts } from '../../shell/toasts.js'
import { Button, IconButton } from '../button.js'
import { Icon } from '../icon.js'
import { Link } from '../link.js'

/** Messages at the bottom of the screen. Rendered once. */
export function Toasts() {
  const box = useRef<HTMLDivElement>(null)
  const list = toasts.value
  useEffect(() => {
    // Reopened each time, so that it is above a dialog that was opened later.
    if (list.length === 0) return
    box.current?.hidePopover?.()
    box.current?.showPopover?.()
  }, [list.length])
  return (
    <section ref={box} class="toasts" popover="manual" aria-label="Messages">
      {list.map(toast => (
        <div key={toast.id} class="toast">
          <Icon
            class={`sign ${toast.tone ?? 'info'}`}
            name={toast.tone === 'problem' ? 'warning' : toast.tone === 'ok' ? 'check' : 'info'}
          />
          <span class="grow">{toast.text}</span>
          {toast.link && <Link to={toast.link.href} text={toast.link.text} />}
          {toast.undo && <Button text="Undo" size="sm" onPress={toast.undo} />}
          <IconButton size="sm" icon="close" label="Dismiss" onPress={() => dismissToast(toast.id)} />
        </div>
      ))}
    </section>
  )
}

/** Reads the messages of `announce` to screen readers. Rendered once. */
export function LiveRegion() {
  return (
    <div class="off-screen" role="status" aria-live="polite">
      {announced.value}
    </div>
  )
}
