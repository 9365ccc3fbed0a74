import { useEffect, useRef } from 'preact/hooks'
import { later } from '../../data/clock.js'

const AFTER_MS = 350
const GAP = 6

/**
 * Shows the `data-tip` of any element on hover and on keyboard focus. Rendered once for the whole page.
 */
export function Tooltip() {
  const tip = useRef<HTMLDivElement>(null)
  useEffect(() => watch(tip.current!), [])
  return <div ref={tip} class="tooltip" role="tooltip" id="tooltip" popover="manual" />
}

function watch(tip: HTMLElement): () => void {
  let target: HTMLElement | undefined
  let forget = (): void => {}
  const hide = (): void => {
    forget()
    target = undefined
    if (tip.matches(':popover-open')) tip.hidePopover()
  }
  const aim = (event: Event): void => {
    const found = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-tip]') : null
    if (found === (target ?? null)) return
    hide()
    if (!found?.dataset['tip']) return
    target = found
    forget = later(AFTER_MS, () => show(tip, found))
  }
  const focus = (event: Event): void => {
    if (event.target instanceof Element && event.target.matches(':focus-visible')) aim(event)
  }
  const listened: readonly (readonly [string, (event: Event) => void])[] = [
    ['pointerover', aim],
    ['focusin', focus],
    ['focusout', hide],
    ['pointerdown', hide],
    ['keydown', hide],
    ['scroll', hide],
  ]
  for (const [name, run] of listened) document.addEventListener(name, run, { capture: true, passive: true })
  return () => {
    for (const [name, run] of listened) document.removeEventListener(name, run, { capture: true })
  }
}

function show(tip: HTMLElement, target: HTMLElement): void {
  if (!target.isConnected) return
  tip.textContent = target.dataset['tip'] ?? ''
  tip.showPopover()
  const at = target.getBoundingClientRect()
  const own = tip.getBoundingClientRect()
  const left = Math.min(window.innerWidth - own.width - GAP, Math.max(GAP, at.left + at.width / 2 - own.width / 2))
  const isAbove = at.bottom + GAP + own.height > window.innerHeight
  tip.style.setProperty('left', `${left}px`)
  tip.style.setProperty('top', `${isAbove ? at.top - own.height - GAP : at.bottom + GAP}px`)
}
