import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Facts } from '../timeline/facts.js'

interface TipProps {
  readonly facts: Facts
  /** The place that it is about, in pixels of the box around. */
  readonly x: number
  readonly y: number
  /** Where it ends: there is room below it, if there is none above. */
  readonly bottom?: number
}

const MARGIN = 4

/** Exact facts beside what is pointed at. It stays inside its box, and goes below where there is no room above. */
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
