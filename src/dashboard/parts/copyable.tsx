import { copyText } from '../data/copy.js'
import { shortId } from '../data/format.js'
import { Icon } from './icon.js'

export interface CopyableProps {
  /** What is copied … */
  readonly text: string
  /** … and what is shown, if not the same. */
  readonly shown?: string | undefined
  /** What was copied, for the message: `Job id`. */
  readonly what?: string | undefined
}

/** Text with a press to copy it. */
export function Copyable({ text, shown = text, what = 'Text' }: CopyableProps) {
  return (
    <button
      type="button"
      class="copyable"
      data-tip={`Copy ${text.length > 60 ? what.toLowerCase() : text}`}
      aria-label={`Copy ${what.toLowerCase()} ${shown}`}
      onClick={event => {
        event.stopPropagation()
        void copyText(text, `${what} copied`)
      }}
    >
      <span class="mono">{shown}</span>
      <Icon name="copy" size={12} />
    </button>
  )
}

/** An id by its end, which tells it apart; all of it on hover and when copied. */
export function CopyableId({ id, what = 'Job id' }: { readonly id: string; readonly what?: string | undefined }) {
  return <Copyable text={id} shown={shortId(id)} what={what} />
}
