import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon, type IconName } from '../icon.js'

export interface MenuItem {
  readonly text: string
  readonly icon?: IconName | undefined
  readonly onPress?: (() => void) | undefined
  readonly href?: string | undefined
  /** An explanation below the text, because retry, replay and run now are easily confused. */
  readonly hint?: string | undefined
  readonly tone?: 'danger' | undefined
  readonly disabled?: boolean | undefined
  readonly checked?: boolean | undefined
  readonly shortcut?: string | undefined
}

export interface MenuProps {
  readonly children?: ComponentChildren | undefined
  readonly icon?: IconName | undefined
  readonly label: string
  readonly items: readonly (MenuItem | undefined | false)[]
  readonly tone?: 'quiet' | 'normal' | undefined
  readonly size?: 'md' | 'sm' | undefined
}

/** A button with a menu. Arrow keys move, Escape closes. */
export function Menu({ children, icon = 'more', label, items, tone = 'quiet', size = 'md' }: MenuProps) {
  const isOpen = useSignal(false)
  const box = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const close = (): void => {
    isOpen.value = false
    button.current?.focus()
  }
  useOpen(isOpen.value, box, close, () => {
    isOpen.value = false
  })
  return (
    <div class="menu" ref={box}>
      <button
        ref={button}
        type="button"
        class={`button ${tone} ${size}${children === undefined ? ' icon-only' : ''}`}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        data-tip={children === undefined ? label : undefined}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        {children === undefined ? <Icon name={icon} /> : <span class="row">{children}</span>}
        {children !== undefined && <Icon name="down" size={12} />}
      </button>
      {isOpen.value && (
        <div class="list" role="menu" aria-label={label} popover="manual" ref={placed}>
          {items.map(item => item && <Item key={item.text} item={item} close={close} />)}
        </div>
      )}
    </div>
  )
}

function Item({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  const { text, icon, hint, tone, href, disabled, checked, shortcut } = item
  const content = (
    <>
      {checked !== undefined ? <Icon name="check" class={checked ? '' : 'unseen'} /> : icon && <Icon name={icon} />}
      <span class="grow">
        <span class="text">{text}</span>
        {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
      {shortcut !== undefined && <kbd>{shortcut}</kbd>}
    </>
  )
  const press = (): void => {
    close()
    item.onPress?.()
  }
  if (href !== undefined) {
    return (
      <a role="menuitem" tabIndex={-1} href={href} onClick={press}>
        {content}
      </a>
    )
  }
  return (
    <button
      type="button"
      {...(checked === undefined ? { role: 'menuitem' } : { role: 'menuitemradio', 'aria-checked': checked })}
      tabIndex={-1}
      class={tone}
      disabled={disabled}
      onClick={press}
    >
      {content}
    </button>
  )
}

const GAP = 4
const EDGE = 8

/** Places the menu above all content, up or left if there is no room, and focuses it. */
function placed(list: HTMLElement | null): void {
  if (!list || list.matches(':popover-open')) return
  list.showPopover()
  const button = list.parentElement!.getBoundingClientRect()
  const { width, height } = list.getBoundingClientRect()
  const isWide = button.left + width > window.innerWidth - EDGE
  const isLow = button.bottom + GAP + height > window.innerHeight - EDGE && button.top > height
  list.style.setProperty('left', `${Math.max(EDGE, isWide ? button.right - width : button.left)}px`)
  list.style.setProperty('top', `${isLow ? button.top - height - GAP : button.bottom + GAP}px`)
  list.querySelector<HTMLElement>('[role^=menuitem]:not(:disabled)')?.focus({ preventScroll: true })
}

function walk(event: KeyboardEvent, box: HTMLElement, close: () => void): void {
  const items = [...box.querySelectorAll<HTMLElement>('[role^=menuitem]:not(:disabled)')]
  if (items.length === 0) return
  const at = items.indexOf(document.activeElement as HTMLElement)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]
  if (to !== undefined) items[(to + items.length) % items.length]?.focus()
  else if (event.key === 'Escape') close()
  else return
  event.preventDefault()
  event.stopPropagation()
}

/** Handles the keys of an open menu, and closes it on any event outside. */
function useOpen(
  isOpen: boolean,
  { current: box }: { readonly current: HTMLElement | null },
  close: () => void,
  abandon: () => void,
): void {
  useEffect(() => {
    if (!isOpen || !box) return undefined
    const leave = (event: Event): void => {
      if (event.target instanceof Node && !box.contains(event.target)) abandon()
    }
    const press = (event: KeyboardEvent): void => walk(event, box, close)
    document.addEventListener('keydown', press, { capture: true })
    document.addEventListener('pointerdown', leave)
    document.addEventListener('focusin', leave)
    window.addEventListener('scroll', abandon, { capture: true, passive: true })
    return () => {
      document.removeEventListener('keydown', press, { capture: true })
      document.removeEventListener('pointerdown', leave)
      document.removeEventListener('focusin', leave)
      window.removeEventListener('scroll', abandon, { capture: true })
    }
  }, [isOpen])
}
