import { href, path, query, setQuery } from '../../shell/router.js'

interface StateLinksProps {
  readonly label: string
  /** The states of the filter `state`; undefined for all of them. */
  readonly states: readonly (readonly [text: string, state: string | undefined])[]
}

/** Links that filter a list by state. */
export function StateLinks({ label, states }: StateLinksProps) {
  return (
    <nav class="phases" aria-label={label}>
      {states.map(([text, state]) => (
        <a
          key={text}
          href={href(path.value, { ...query.value, state, cursor: undefined })}
          aria-current={state === query.value['state'] ? 'true' : undefined}
          onClick={event => {
            event.preventDefault()
            setQuery({ state, cursor: undefined })
          }}
        >
          {text}
        </a>
      ))}
    </nav>
  )
}
