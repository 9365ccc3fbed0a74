import type { ComponentChildren } from 'preact'
import { setQuery } from '../../shell/router.js'
import { Button } from '../button.js'

interface OnlyProps {
  /** The parameter of the URL that limits the list. */
  readonly name: string
  /** The text of the button: `Show all workers`. */
  readonly all: string
  readonly children: ComponentChildren
}

/** Says that a list is limited to what a link led to, and shows the whole list again. */
export function Only({ name, all, children }: OnlyProps) {
  return (
    <p class="notice row wrap">
      <span class="grow">{children}</span>
      <Button text={all} size="sm" onPress={() => setQuery({ [name]: undefined, cursor: undefined })} />
    </p>
  )
}
