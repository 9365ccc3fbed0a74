import { copyText } from '../data/copy.js'
import { shortId } from '../data/format.js'
import { Icon } from './icon.js'

export interface CopyableProps {
  readonly text: string
  /** The text to show; the same by default. */
  readonly shown?: string | undefined
  /** The name of the text in the message: `Job id`. */
  readonly what?: string | undefined
}

/** Text that is copied by a click. */
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

/** The unique end of an id. The tooltip and the copy have the whole id. */
export function CopyableId({ id, what = 'Job id' }: { readonly id: string; readonly what?: string | undefined }) {
  return <Copyable text={id} shown={shortId(id)} what={what} />
}
