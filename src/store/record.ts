/** A small document with a kind and an id. Its body is JSON text; its version grows with every write. */
export interface StoredRecord {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly body: string
  readonly updatedAt: number
}

/**
 * Selects records by ids, or by a range of ids (`from` inclusive, `to` exclusive). The answer is sorted by bytes; see
 * `byBytes`.
 */
export type RecordQuery =
  | { readonly ids: readonly string[] }
  | { readonly from?: string; readonly to?: string; readonly limit: number; readonly order?: 'up' | 'down' }

export interface RecordWrite {
  readonly kind: string
  readonly id: string
  /** null removes the record. */
  readonly body: string | null
  /** The version that the record must have, or 0 if it must not exist. Any version matches if it is absent. */
  readonly expect?: number
}

export type Put =
  /** A removed record has version 0, like one that never existed. */
  | { readonly status: 'written'; readonly version: number }
  /** The record has another version than expected; `current` is absent if the record does not exist. */
  | { readonly status: 'conflict'; readonly current?: StoredRecord }
