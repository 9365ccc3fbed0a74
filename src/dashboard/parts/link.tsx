import type { ComponentChildren } from 'preact'

interface LinkProps {
  readonly to: string
  readonly text: ComponentChildren
  /** The classes of the text: `mono` for an id, `strong clip` for the name of a row. */
  readonly look?: string | undefined
}

export function Link({ to, text, look = 'link' }: LinkProps) {
  return (
    <a class={look} href={to}>
      {text}
    </a>
  )
}
