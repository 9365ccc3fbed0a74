import type { ComponentChildren } from 'preact'
import { present } from '../../../core/values/present.js'
import type { Page } from '../../data/api.js'
import { type QueryOptions, type QueryState, useQuery } from '../../data/query.js'
import { query as urlQuery } from '../../shell/router.js'
import { Answer } from '../empty.js'
import { Panel, type PanelProps } from '../panel.js'
import { order, ordered } from './order.js'
import { Pager } from './pager.js'
import { Table, type TableProps } from './table.js'

interface PageOptions extends QueryOptions {
  readonly limit?: number
}

/** The page of a list that the cursor in the URL names. */
export function usePage<T>(
  key: string,
  load: (page: Page, signal: AbortSignal) => Promise<T>,
  { limit, ...options }: PageOptions,
): QueryState<T> {
  const { cursor } = urlQuery.value
  return useQuery(`${key} ${cursor ?? ''}`, signal => load(present({ limit, cursor }), signal), options)
}

interface Rows<Row> {
  readonly data: readonly Row[]
  readonly page?: { readonly next?: string }
}

export interface ListProps<Row, Found extends Rows<Row>>
  extends Omit<TableProps<Row>, 'rows' | 'stale' | 'isSortable'>,
    Pick<PanelProps, 'title' | 'note'> {
  readonly query: QueryState<Found>
  /** Shown instead of the table if there are no rows. */
  readonly empty?: ComponentChildren
  /** Shown instead of the table if `pick` leaves no rows. */
  readonly none?: ComponentChildren
  /** The size of the list, beside the buttons of its pages. */
  readonly size?: ((found: Found) => ComponentChildren) | undefined
  readonly actions?: ((found: Found) => ComponentChildren) | undefined
  /** The rows to show and their order; default all, as they are. */
  readonly pick?: ((rows: readonly Row[]) => readonly Row[]) | undefined
  readonly lines?: number | undefined
}

/** The rows of a query as a table: loading, error and empty state, and pages if there are more rows. */
export function List<Row, Found extends Rows<Row>>(props: ListProps<Row, Found>) {
  const { query, empty, none, size, actions, pick = rows => rows, lines = 8, title, note, ...table } = props
  return (
    <Answer query={query} lines={lines}>
      {found => {
        // Only a list without further pages can be ordered here.
        const isWhole = found.page?.next === undefined && urlQuery.value['cursor'] === undefined
        const picked = pick(found.data)
        const rows = isWhole ? ordered(picked, table.columns, order()) : picked
        if (found.data.length === 0 && empty) return empty
        if (picked.length === 0 && none) return none
        return (
          <>
            <Panel flush title={title} note={note} actions={actions?.(found)}>
              <Table {...table} rows={rows} stale={query.isStale} isSortable={isWhole} />
            </Panel>
            {size && <Pager next={found.page?.next}>{size(found)}</Pager>}
          </>
        )
      }}
    </Answer>
  )
}
