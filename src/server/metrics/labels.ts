import { createHash } from 'node:crypto'

/** Limit of distinct label values, or pairs of them; further ones are counted as `other`. */
export const SERIES_MAX = 200
export const OTHER = 'other'

/** UTF-8 has no lone surrogates, so two labels that differ only there would produce the same line twice. */
export function labelText(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD')
}

/** Limit of names that are found without building a key. */
const FAST_MAX = 1_000

/** One value per name or pair of names, with one shared value for all names beyond the limit. */
export class Bounded<Value> {
  readonly #make: (first: string, second: string) => Value
  readonly #fast = new Map<string, Map<string, Value>>()
  #fastSize = 0
  readonly #values = new Map<string, Value>()

  constructor(make: (first: string, second: string) => Value) {
    this.#make = make
  }

  of(first: string, second = ''): Value {
    return this.#fast.get(first)?.get(second) ?? this.#find(first, second)
  }

  values(): readonly Value[] {
    return [...this.#values.values()]
  }

  #find(first: string, second: string): Value {
    const value = this.#values.get(keyOf(first, second)) ?? this.#added(first, second)
    if (this.#fastSize < FAST_MAX) {
      const seconds = this.#fast.get(first) ?? new Map<string, Value>()
      this.#fast.set(first, seconds.set(second, value))
      this.#fastSize++
    }
    return value
  }

  #added(first: string, second: string): Value {
    // The last place is for `other`.
    const hasRoom = this.#values.size < SERIES_MAX - 1
    const texts = hasRoom ? ([labelText(first), labelText(second)] as const) : ([OTHER, OTHER] as const)
    const key = keyOf(...texts)
    const value = this.#values.get(key) ?? this.#make(...texts)
    this.#values.set(key, value)
    return value
  }
}

function keyOf(first: string, second: string): string {
  return JSON.stringify([labelText(first), labelText(second)])
}

/** Names of jobs, queues and dependencies that are safe to show. */
const PLAIN = /^((job|queue):[A-Za-z0-9._:/-]{1,128}|[A-Za-z0-9][A-Za-z0-9._:-]{0,63})$/

/**
 * A dependency is named by an origin or by any text of the user. An origin is shown as its host; a text that could be an
 * address or a secret is replaced by a hash.
 */
export function circuitLabel(key: string): string {
  if (PLAIN.test(key)) return key
  if (/^https?:\/\//.test(key) && URL.canParse(key)) return new URL(key).host
  return `dependency-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`
}
