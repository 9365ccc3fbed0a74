const BUCKETS = 10

/** Adds counts to those of the window, which is kept in a few buckets; older buckets are dropped. */
export function counted<T extends Readonly<Record<string, number>>>(
  old: readonly (T & { readonly at: number })[],
  count: T,
  windowMs: number,
  now: number,
): readonly (T & { readonly at: number })[] {
  const sizeMs = windowMs / BUCKETS
  const at = Math.floor(now / sizeMs) * sizeMs
  const kept = old.filter(bucket => bucket.at > now - windowMs)
  const last = kept.at(-1)
  if (last?.at !== at) return [...kept, { ...count, at }]
  const sum = Object.fromEntries(Object.entries(count).map(([what, by]) => [what, last[what]! + by]))
  return [...kept.slice(0, -1), { ...last, ...sum }]
}
