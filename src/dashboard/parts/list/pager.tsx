import type { ComponentChildren } from 'preact'
import { useKeys } from '../../shell/keys.js'
import { query, setQuery } from '../../shell/router.js'
import { Button } from '../button.js'

export interface PagerProps {
  readonly next?: string | undefined
  /** The size of the list: `50 of 2,314 jobs`. */
  readonly children?: ComponentChildren | undefined
}

/** Cursor pagination in the URL. Lists grow at their beginning, so pages have no numbers. */
export function Pager({ next, children }: PagerProps) {
  const isFirst = query.value['cursor'] === undefined
  const forward = (): void => {
    if (next !== undefined) setQuery({ cursor: next })
  }
  const back = (): void => {
    if (!isFirst) window.history.back()
  }
  useKeys([
    { keys: 'l', does: 'Next page', group: 'Lists', run: forward },
    { keys: 'h', does: 'Previous page', group: 'Lists', run: back },
  ])
  return (
    <nav class="pager" aria-label="Pages">
      <span class="muted grow">{children}</span>
      {!isFirst && <Button text="First page" size="sm" tone="quiet" onPress={() => setQuery({ cursor: undefined })} />}
      <Button text="Back" size="sm" icon="left" disabled={isFirst} onPress={back} shortcut="h" />
      <Button text="Next" size="sm" icon="right" disabled={next === undefined} onPress={forward} shortcut="l" />
    </nav>
  )
}
