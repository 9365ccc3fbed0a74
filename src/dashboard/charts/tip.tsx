import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Facts } from '../timeline/facts.js'

interface TipProps {
  readonly facts: Facts
  /** The point it belongs to, in pixels of the surrounding box. */
  readonly x: number
  readonly y: number
  /** The top of the tip if there is no room above. */
  readonly bottom?: number
}

const MARGIN = 4

/** Exact figures beside the pointer. It stays inside its box and moves below if there is no room above. */
export function Tip({ facts, x, y, bottom = y }: TipProps) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const tip = element.current
    const box = tip?.offsetParent
    if (!tip || !(box instanceof HTMLElement)) return
    const left = Math.max(MARGIN, Math.min(x - tip.offsetWidth / 2, box.clientWidth - tip.offsetWidth - MARGIN))
    const above = y - tip.offsetHeight - 10
    // Set on the element, not as an attribute: the content security policy allows no inline style.
    tip.style.setProperty('left', `${left}px`)
    tip.style.setProperty('top', `${above + box.getBoundingClientRect().top < 0 ? bottom + 10 : above}px`)
  })
  return (
    <div class="picture-tip" ref={element} role="tooltip">
      <strong>{facts.title}</strong>
      {facts.lines.length > 0 && (
        <dl>
          {facts.lines.map(([what, value]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}
