import type { ComponentChildren } from 'preact'
import type { Hue } from './badge.js'

export interface TileProps {
  readonly label: string
  readonly value: ComponentChildren
  readonly note?: ComponentChildren | undefined
  readonly hue?: Hue | undefined
  readonly href?: string | undefined
  readonly tip?: string | undefined
  /** A sparkline or a meter below the figure. */
  readonly children?: ComponentChildren | undefined
}

export function Tile({ label, value, note, hue, href, tip, children }: TileProps) {
  // A word such as "unknown" would not fit in the size of a figure.
  const isWord = typeof value === 'string' && !/\d/.test(value)
  const content = (
    <>
      <span class="label">{label}</span>
      <span class={`value${isWord ? ' word' : ''}${hue ? ` ${hue}` : ''}`}>{value}</span>
      {note !== undefined && <span class="note">{note}</span>}
      {children}
    </>
  )
  return href === undefined ? (
    <div class="tile" data-tip={tip}>
      {content}
    </div>
  ) : (
    <a class="tile" href={href} data-tip={tip}>
      {content}
    </a>
  )
}

interface TilesProps {
  readonly children: ComponentChildren
  readonly stale?: boolean | undefined
}

/** A row of tiles that wraps. */
export function Tiles({ children, stale = false }: TilesProps) {
  return <div class={`tiles${stale ? ' stale' : ''}`}>{children}</div>
}
