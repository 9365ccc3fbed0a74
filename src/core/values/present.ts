/** `T` with absent fields in place of undefined ones. */
export type Present<T> = { [K in keyof T as IsOptional<T[K]> extends true ? never : K]: T[K] } & {
  [K in keyof T as IsOptional<T[K]> extends true ? K : never]?: Exclude<T[K], undefined>
}
type IsOptional<V> = unknown extends V ? false : undefined extends V ? true : false

/** Drops undefined fields, so that an absent value has one form in every record. */
export function present<const T extends object>(fields: T): Present<T> {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) kept[name] = value
  return kept as Present<T>
}
