import { type Signal, useComputed, useSignal } from '@preact/signals'
import { copyText } from '../data/copy.js'
import { ExactNumber } from '../data/http.js'
import { IconButton } from './button.js'
import { Icon } from './icon.js'

export interface JsonProps {
  readonly value: unknown
  /** The name of the data in button labels: `Payload`. */
  readonly what?: string | undefined
  /** The levels that are open at first; default 2. */
  readonly depth?: number | undefined
}

/** More children than this are shown on request, so that a huge list does not block the page. */
const SHOWN_MAX = 100
/** With fewer leaves there is no search field. */
const SEARCH_FROM = 12

/** Foldable data with a search. A click on a key copies its path. Numbers keep their original digits. */
export function Json({ value, what = 'JSON', depth = 2 }: JsonProps) {
  const search = useSignal('')
  const wanted = useComputed(() => search.value.trim().toLowerCase())
  const isBig = leaves(value, SEARCH_FROM) >= SEARCH_FROM
  return (
    <div class="json">
      <div class="tools">
        {isBig && (
          <input
            class="input"
            type="search"
            placeholder="Search"
            aria-label={`Search in ${what.toLowerCase()}`}
            value={search.value}
            onInput={event => {
              search.value = event.currentTarget.value
            }}
          />
        )}
        <IconButton
          size="sm"
          icon="copy"
          label={`Copy ${what.toLowerCase()}`}
          onPress={() => void copyText(jsonText(value), `${what} copied`)}
        />
      </div>
      <div class="tree">
        <Node value={value} path="$" name={undefined} level={0} depth={depth} wanted={wanted} />
      </div>
    </div>
  )
}

interface NodeProps {
  readonly value: unknown
  readonly path: string
  readonly name: string | undefined
  readonly level: number
  readonly depth: number
  readonly wanted: { readonly value: string }
}

function Node(props: NodeProps) {
  const { value, name, path } = props
  const children = entriesOf(value)
  if (children) return <Branch {...props} children={children} />
  const text = leafText(value)
  const isHit = props.wanted.value !== '' && `${name ?? ''} ${text}`.toLowerCase().includes(props.wanted.value)
  return (
    <div class={`leaf${isHit ? ' hit' : ''}`}>
      <Name name={name} path={path} />
      <span class={`value ${kindOf(value)}`}>{text}</span>
    </div>
  )
}

function Branch({ value, name, path, level, depth, wanted, children }: NodeProps & { readonly children: Entries }) {
  const chosen = useSignal<boolean | undefined>(undefined)
  const shown = useSignal(SHOWN_MAX)
  const holdsHit = wanted.value !== '' && hasHit(value, wanted.value)
  const isOpen = chosen.value ?? (holdsHit || level < depth)
  const [begin, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (children.length === 0) {
    return (
      <div class="leaf">
        <Name name={name} path={path} />
        <span class="value">{begin + end}</span>
      </div>
    )
  }
  return (
    <div class="branch">
      <div class="leaf">
        <Fold isOpen={isOpen} chosen={chosen} name={name ?? 'all'} />
        <Name name={name} path={path} />
        <span class="muted">{isOpen ? begin : `${begin} ${children.length} ${end}`}</span>
      </div>
      {isOpen && (
        <>
          <div class="inside">
            {children.slice(0, shown.value).map(([key, child]) => (
              <Node
                key={key}
                value={child}
                name={key}
                path={
                  Array.isArray(value)
                    ? `${path}[${key}]`
                    : /^[A-Za-z_$][\w$]*$/.test(key)
                      ? `${path}.${key}`
                      : `${path}[${JSON.stringify(key)}]`
                }
                level={level + 1}
                depth={depth}
                wanted={wanted}
              />
            ))}
            {children.length > shown.value && (
              <button type="button" class="more" onClick={() => (shown.value += 10 * SHOWN_MAX)}>
                {children.length - shown.value} more
              </button>
            )}
          </div>
          <span class="muted">{end}</span>
        </>
      )}
    </div>
  )
}

function Fold({ isOpen, chosen, name }: { isOpen: boolean; chosen: Signal<boolean | undefined>; name: string }) {
  return (
    <button
      type="button"
      class="fold"
      aria-expanded={isOpen}
      aria-label={`${isOpen ? 'Collapse' : 'Expand'} ${name}`}
      onClick={() => {
        chosen.value = !isOpen
      }}
    >
      <Icon name={isOpen ? 'down' : 'right'} size={10} />
    </button>
  )
}

function Name({ name, path }: { readonly name: string | undefined; readonly path: string }) {
  if (name === undefined) return null
  return (
    <button
      type="button"
      class="name"
      data-tip={`Copy path ${path}`}
      onClick={() => void copyText(path, 'Path copied')}
    >
      {name}:
    </button>
  )
}

type Entries = readonly (readonly [key: string, value: unknown])[]

function entriesOf(value: unknown): Entries | undefined {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return undefined
  return Object.entries(value)
}

function leafText(value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  return JSON.stringify(value) ?? 'undefined'
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  return value instanceof ExactNumber ? 'number' : typeof value
}

function hasHit(value: unknown, wanted: string): boolean {
  const children = entriesOf(value)
  if (!children) return leafText(value).toLowerCase().includes(wanted)
  return children.some(([key, child]) => key.toLowerCase().includes(wanted) || hasHit(child, wanted))
}

function leaves(value: unknown, max: number): number {
  const children = entriesOf(value)
  if (!children) return 1
  let sum = 0
  for (const [, child] of children) {
    sum += leaves(child, max - sum)
    if (sum >= max) break
  }
  return sum
}

/** The data as JSON, with the original digits of every number. */
export function jsonText(value: unknown, indent = 2): string {
  const marks: string[] = []
  const text = JSON.stringify(
    value,
    (_key, each: unknown) => {
      if (!(each instanceof ExactNumber)) return each
      marks.push(each.text)
      return `\u0000${marks.length - 1}\u0000`
    },
    indent,
  )
  return (text ?? 'undefined').replace(/"\\u0000(\d+)\\u0000"/g, (_, at: string) => marks[Number(at)]!)
}
