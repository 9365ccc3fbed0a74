import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { hold } from '../../data/live.js'
import { useKeys } from '../../shell/keys.js'
import { navigate } from '../../shell/router.js'
import { Icon } from '../icon.js'
import { nextOrder, order, setOrder } from './order.js'

export interface Column<Row> {
  /** Distinguishes the column, too. */
  readonly title: string
  /** The title is only for screen readers. */
  readonly isUntitled?: boolean | undefined
  readonly render: (row: Row) => ComponentChildren
  readonly align?: 'start' | 'end' | undefined
  /** `grow` takes the remaining width and truncates its text. */
  readonly width?: 'fit' | 'grow' | undefined
  /** On phones rows become cards: `head` is the first line, `hide` is left out. */
  readonly phone?: 'head' | 'show' | 'hide' | undefined
  /** What the column is sorted by, if the whole list is loaded. Dates in ISO format sort as text. */
  readonly sort?: ((row: Row) => number | string | undefined) | undefined
}

export interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Distinguishes the rows; default their id. */
  readonly rowKey?: ((row: Row) => string) | undefined
  /** The page that a click or Enter on a row opens. */
  readonly href?: ((row: Row) => string) | undefined
  /** The selected ids. Makes rows selectable (`x`, or Shift-click for a range). */
  readonly selected?: Signal<ReadonlySet<string>> | undefined
  readonly stale?: boolean | undefined
  /** The titles of columns with `sort` are buttons that order the rows. */
  readonly isSortable?: boolean | undefined
}

/** A table with keyboard navigation: `j` and `k` move, Enter opens, `x` selects, `X` selects a range. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey = idOf, href, selected, stale = false, isSortable = false } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const focused = useSignal<string | undefined>(undefined)
  const anchor = useRef<string | undefined>(undefined)
  useHold(selected)
  useRowKeys(props, body, focused, anchor)
  return (
    <div class={`table-box${stale ? ' stale' : ''}`}>
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {selected && (
              <th class="select" scope="col">
                <AllBox rows={rows} rowKey={rowKey} selected={selected} />
              </th>
            )}
            {columns.map(column =>
              isSortable && column.sort ? (
                <SortTitle key={column.title} column={column} />
              ) : (
                <th key={column.title} scope="col" class={cellClass(column)}>
                  {column.isUntitled ? <span class="off-screen">{column.title}</span> : column.title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map(row => {
            const id = rowKey(row)
            return (
              <tr
                key={id}
                data-row={id}
                class={`${href ? 'opens' : ''}${focused.value === id ? ' focused' : ''}${selected?.value.has(id) ? ' selected' : ''}`}
                onClick={event => open(event, href?.(row))}
              >
                {selected && (
                  <td class="select">
                    <input
                      type="checkbox"
                      aria-label={`Select ${id}`}
                      checked={selected.value.has(id)}
                      onClick={event => {
                        event.stopPropagation()
                        choose(selected, rows.map(rowKey), id, event.shiftKey ? anchor.current : undefined)
                        anchor.current = id
                      }}
                    />
                  </td>
                )}
                {columns.map(column => (
                  <td
                    key={column.title}
                    class={cellClass(column)}
                    data-label={column.isUntitled ? undefined : column.title}
                  >
                    {column.render(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function SortTitle<Row>({ column }: { readonly column: Column<Row> }) {
  const { title } = column
  const current = order()
  const isOn = current?.by === title
  const direction = isOn ? (current.isDown ? 'descending' : 'ascending') : undefined
  return (
    <th scope="col" class={`${cellClass(column)} sortable`} aria-sort={direction ?? 'none'}>
      <button type="button" onClick={() => setOrder(nextOrder(column, current))}>
        {title}
        <Icon name={isOn && !current.isDown ? 'up' : 'down'} size={10} class={isOn ? '' : 'idle'} />
      </button>
    </th>
  )
}

/** Updates are held while rows are selected, so that an action affects what was seen. */
function useHold(selected: Signal<ReadonlySet<string>> | undefined): void {
  const isChosen = (selected?.value.size ?? 0) > 0
  useEffect(() => (isChosen ? hold() : undefined), [isChosen])
}

function useRowKeys<Row>(
  { rows, rowKey = idOf, href, selected }: TableProps<Row>,
  body: { readonly current: HTMLElement | null },
  focused: Signal<string | undefined>,
  anchor: { current: string | undefined },
): void {
  const ids = rows.map(rowKey)
  const at = (): number => ids.indexOf(focused.peek() ?? '')
  const move = (by: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, at() + by))
    // Moves the focus to the row, so that Enter opens it.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    focused.value = ids[next]
    body.current?.querySelectorAll('tr')[next]?.scrollIntoView({ block: 'nearest' })
  }
  const select = (isRange: boolean): void => {
    const id = focused.peek()
    if (!selected || id === undefined) return
    choose(selected, ids, id, isRange ? anchor.current : undefined)
    anchor.current = id
  }
  useKeys([
    { keys: 'j', does: 'Next row', group: 'Lists', run: () => move(1) },
    { keys: 'k', does: 'Previous row', group: 'Lists', run: () => move(-1) },
    ...(href
      ? [{ keys: 'Enter', does: 'Open row', group: 'Lists', run: () => openAt(rows[at()], href) } as const]
      : []),
    ...(selected
      ? ([
          { keys: 'x', does: 'Select row', group: 'Lists', run: () => select(false) },
          { keys: 'X', does: 'Select rows up to here', group: 'Lists', run: () => select(true) },
        ] as const)
      : []),
  ])
}

function openAt<Row>(row: Row | undefined, href: (row: Row) => string): void {
  if (row !== undefined) navigate(href(row))
}

/** A click on the row opens it; controls inside handle their own clicks. */
function open(event: MouseEvent, address: string | undefined): void {
  const isInner = event.target instanceof Element && event.target.closest('a, button, input, select, label, summary')
  if (address === undefined || isInner || String(window.getSelection()) !== '') return
  if (event.metaKey || event.ctrlKey) window.open(address, '_blank', 'noreferrer')
  else navigate(address)
}

function choose(
  selected: Signal<ReadonlySet<string>>,
  ids: readonly string[],
  id: string,
  anchor: string | undefined,
): void {
  const next = new Set(selected.peek())
  const from = anchor === undefined ? -1 : ids.indexOf(anchor)
  if (from >= 0) {
    const to = ids.indexOf(id)
    for (const one of ids.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one)
  } else if (!next.delete(id)) {
    next.add(id)
  }
  selected.value = next
}

interface AllBoxProps<Row> {
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly selected: Signal<ReadonlySet<string>>
}

function AllBox<Row>({ rows, rowKey, selected }: AllBoxProps<Row>) {
  const chosen = rows.filter(row => selected.value.has(rowKey(row))).length
  const isAll = rows.length > 0 && chosen === rows.length
  return (
    <input
      type="checkbox"
      aria-label="Select all rows on this page"
      checked={isAll}
      ref={box => {
        if (box) box.indeterminate = chosen > 0 && !isAll
      }}
      onClick={() => {
        selected.value = isAll ? new Set() : new Set(rows.map(rowKey))
      }}
    />
  )
}

const idOf = (row: unknown): string => (row as { readonly id: string }).id

/** The last column: the buttons or the menu of a row. */
export function actionColumn<Row>(
  render: (row: Row) => ComponentChildren,
  phone: Column<Row>['phone'] = 'hide',
): Column<Row> {
  return { title: 'Actions', isUntitled: true, phone, render }
}

function cellClass<Row>({ align = 'start', width = 'fit', phone = 'show' }: Column<Row>): string {
  return `${align} ${width} phone-${phone}`
}
