import { query, setQuery } from '../../shell/router.js'
import { Icon } from '../icon.js'

/** Finds rows of a list by a text in their name, which is `q` in the URL. */
export function SearchBox({ label }: { readonly label: string }) {
  return (
    <span class="search-box">
      <Icon name="search" size={14} class="muted" />
      <input
        class="input"
        type="search"
        placeholder={label}
        aria-label={label}
        value={query.value['q'] ?? ''}
        onInput={event => setQuery({ q: event.currentTarget.value, cursor: undefined }, { replace: true })}
      />
    </span>
  )
}
