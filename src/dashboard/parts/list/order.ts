import { query, setQuery } from '../../shell/router.js'
import type { Column } from './table.js'

/** The order of a list that is loaded as a whole: `sort=Dead` or `sort=-Dead` in the URL. */
export interface Order {
  /** The title of a column. */
  readonly by: string
  readonly isDown: boolean
}

export function orderIn(sort: string | undefined): Order | undefined {
  if (!sort) return undefined
  return sort.startsWith('-') ? { by: sort.slice(1), isDown: true } : { by: sort, isDown: false }
}

/** The next order when the title of a column is pressed: numbers begin with the highest. Then reversed, then none. */
export function nextOrder<Row>({ title, align }: Column<Row>, order: Order | undefined): Order | undefined {
  const isDownFirst = align === 'end'
  if (order?.by !== title) return { by: title, isDown: isDownFirst }
  return order.isDown === isDownFirst ? { by: title, isDown: !isDownFirst } : undefined
}

export const order = (): Order | undefined => orderIn(query.value['sort'])

export function setOrder(next: Order | undefined): void {
  setQuery({ sort: next && `${next.isDown ? '-' : ''}${next.by}` }, { replace: true })
}

/** Rows without a value are last in either direction. Equal rows keep their order. */
export function ordered<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  given: Order | undefined,
): readonly Row[] {
  const rank = columns.find(({ title, sort }) => sort && title === given?.by)?.sort
  if (!given || !rank) return rows
  const sign = given.isDown ? -1 : 1
  return [...rows].sort((a, b) => {
    const [x, y] = [rank(a), rank(b)]
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined)
    return x === y ? 0 : sign * (x < y ? -1 : 1)
  })
}
