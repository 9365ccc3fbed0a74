/** A small document under a kind and an id. Its body is JSON text; its version grows with every write. */
export interface StoredRecord {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly body: string
  readonly updatedAt: number
}

/** By ids, or a range of ids (`from` included, `to` not); in either case in the order of their bytes, see `byBytes`. */
export type RecordQuery =
  | { readonly ids: readonly string[] }
  | { readonly from?: string; readonly to?: string; readonly limit: number; readonly order?: 'up' | 'down' }

export interface RecordWrite {
  readonly kind: string
  readonly id: string
  /** null removes it. */
  readonly body: string | null
  /** The version that it must have, 0 for none at all; absent: whatever it has. */
  readonly expect?: number
}

export type Put =
  /** A record that was removed has version 0, as one that never was. */
  | { readonly status: 'written'; readonly version: number }
  /** It has another version than expected; `current` is absent where there is none. */
  | { readonly status: 'conflict'; readonly current?: StoredRecord }
