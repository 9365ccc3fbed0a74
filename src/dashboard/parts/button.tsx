import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.js'

interface Pressable {
  readonly onPress?: ((event: MouseEvent) => void) | undefined
  /** Renders a link that looks like a button. */
  readonly href?: string | undefined
  /** A text says why, in a tooltip; the button can then be focused. */
  readonly disabled?: boolean | string | undefined
  /** Shows that the action is in progress. */
  readonly busy?: boolean | undefined
  /** The keyboard shortcut, shown in the tooltip. */
  readonly shortcut?: string | undefined
  readonly external?: boolean | undefined
}

export interface ButtonProps extends Pressable {
  readonly text: ComponentChildren
  readonly icon?: IconName | undefined
  /** `primary`: at most one per screen; `danger`: can't be undone; `quiet`: no border. */
  readonly tone?: 'normal' | 'primary' | 'danger' | 'quiet' | undefined
  readonly size?: 'md' | 'sm' | undefined
  readonly type?: 'button' | 'submit' | undefined
  readonly tip?: string | undefined
}

export function Button({ text, icon, tone = 'normal', size = 'md', type = 'button', tip, ...press }: ButtonProps) {
  const { busy = false } = press
  const content = (
    <>
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      <span>{text}</span>
    </>
  )
  return pressable({ ...press, class: `button ${tone} ${size}`, content, type, tip: tipOf(tip, press.shortcut) })
}

export interface IconButtonProps extends Pressable {
  readonly icon: IconName
  /** The accessible name and tooltip. */
  readonly label: string
  readonly tone?: 'quiet' | 'normal' | 'danger' | undefined
  readonly size?: 'md' | 'sm' | undefined
  readonly pressed?: boolean | undefined
}

export function IconButton({ icon, label, tone = 'quiet', size = 'md', pressed, ...press }: IconButtonProps) {
  return pressable({
    ...press,
    class: `button icon-only ${tone} ${size}`,
    content: press.busy ? <span class="spinner" aria-hidden="true" /> : <Icon name={icon} />,
    type: 'button',
    label,
    pressed,
    tip: tipOf(label, press.shortcut),
  })
}

interface Drawn extends Pressable {
  readonly class: string
  readonly content: ComponentChildren
  readonly type: 'button' | 'submit'
  readonly label?: string
  readonly pressed?: boolean | undefined
  readonly tip?: string | undefined
}

function pressable({ onPress, href, disabled, busy, external, content, type, label, pressed, tip, ...rest }: Drawn) {
  const why = typeof disabled === 'string' ? disabled : undefined
  const named = { class: rest.class, 'data-tip': why ?? tip, 'aria-label': label }
  if (href !== undefined && !disabled) {
    return (
      <a {...named} href={href} onClick={onPress} {...(external && { target: '_blank', rel: 'noreferrer' })}>
        {content}
      </a>
    )
  }
  return (
    <button
      {...named}
      type={type}
      disabled={(why === undefined && disabled === true) || busy}
      aria-disabled={why !== undefined || undefined}
      aria-description={why}
      aria-busy={busy}
      aria-pressed={pressed}
      onClick={why === undefined ? onPress : event => event.preventDefault()}
    >
      {content}
    </button>
  )
}

function tipOf(tip: string | undefined, shortcut: string | undefined): string | undefined {
  if (shortcut === undefined) return tip
  return tip === undefined ? `Key ${shortcut}` : `${tip}  ·  ${shortcut}`
}
