import type { ComponentChildren } from 'preact'
import { useTitle } from '../shell/title.js'
import { Icon } from './icon.js'

export interface PanelProps {
  readonly title?: ComponentChildren | undefined
  /** A count or hint beside the title. */
  readonly note?: ComponentChildren | undefined
  readonly actions?: ComponentChildren | undefined
  readonly children: ComponentChildren
  /** Without padding, for tables and pictures. */
  readonly flush?: boolean | undefined
  readonly stale?: boolean | undefined
}

export function Panel({ title, note, actions, children, flush = false, stale = false }: PanelProps) {
  return (
    <section class="panel">
      {(title !== undefined || actions !== undefined) && (
        <header>
          <div class="row grow">
            {title !== undefined && <h2>{title}</h2>}
            {note !== undefined && <span class="note">{note}</span>}
          </div>
          {actions !== undefined && <div class="row">{actions}</div>}
        </header>
      )}
      <div class={`body${flush ? ' flush' : ''}${stale ? ' stale' : ''}`}>{children}</div>
    </section>
  )
}

export interface PageHeadProps {
  readonly title: ComponentChildren
  readonly up?: { readonly href: string; readonly text: string } | undefined
  readonly sub?: ComponentChildren | undefined
  readonly actions?: ComponentChildren | undefined
}

/** The title of a screen and its actions. The browser shows a title of plain text, too. */
export function PageHead({ title, up, sub, actions }: PageHeadProps) {
  useTitle(typeof title === 'string' ? title : undefined)
  return (
    <header class="page-head">
      <div class="titles">
        {up && (
          <a class="crumb" href={up.href}>
            <Icon name="left" size={12} />
            {up.text}
          </a>
        )}
        <h1>{title}</h1>
        {sub !== undefined && <p class="sub">{sub}</p>}
      </div>
      {actions !== undefined && <div class="actions">{actions}</div>}
    </header>
  )
}

export type Fact = readonly [term: string, value: ComponentChildren]

export interface FactsProps {
  /** Facts without a value are left out. */
  readonly facts: readonly Fact[]
  readonly columns?: 1 | 2 | undefined
}

export function Facts({ facts, columns = 1 }: FactsProps) {
  return (
    <dl class={`facts columns-${columns}`}>
      {facts
        .filter(([, value]) => value !== undefined && value !== false)
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
