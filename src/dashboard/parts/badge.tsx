import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.js'

export type Hue = 'ok' | 'run' | 'retry' | 'dead' | 'wait' | 'off' | 'accent'

export interface BadgeProps {
  readonly children: ComponentChildren
  readonly hue?: Hue | undefined
  readonly icon?: IconName | undefined
  readonly tip?: string | undefined
  readonly href?: string | undefined
}

/** A short label in a colour. */
export function Badge({ children, hue = 'off', icon, tip, href }: BadgeProps) {
  const content = (
    <>
      {icon && <Icon name={icon} size={12} />}
      <span>{children}</span>
    </>
  )
  if (href !== undefined) {
    return (
      <a class={`badge ${hue}`} href={href} data-tip={tip}>
        {content}
      </a>
    )
  }
  return (
    <span class={`badge ${hue}`} data-tip={tip}>
      {content}
    </span>
  )
}

interface TagsProps {
  readonly names: readonly string[]
  /** The page that a tag opens. */
  readonly to?: ((name: string) => string | undefined) | undefined
  /** Further names are counted, and named in the tooltip. */
  readonly max?: number | undefined
  readonly wrap?: boolean | undefined
}

/** Several tags in a row. */
export function Tags({ names, to, max = names.length, wrap = false }: TagsProps) {
  const rest = names.slice(max)
  return (
    <span class={`row tight${wrap ? ' wrap' : ''}`}>
      {names.slice(0, max).map(name => (
        <Tag key={name} href={to?.(name)}>
          {name}
        </Tag>
      ))}
      {rest.length > 0 && (
        <span class="muted" data-tip={rest.join('\n')}>
          +{rest.length}
        </span>
      )}
    </span>
  )
}

export function Tag({ children, href }: { readonly children: string; readonly href?: string | undefined }) {
  return href === undefined ? (
    <span class="tag">{children}</span>
  ) : (
    <a class="tag" href={href}>
      {children}
    </a>
  )
}
