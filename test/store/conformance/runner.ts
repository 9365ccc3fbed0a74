import { format } from 'node:util'

/** The functions of a test framework that the suite needs. The modules of Vitest and of Jest's globals have them all. */
export interface TestFramework {
  describe(title: string, body: () => void): unknown
  it(title: string, run: () => Promise<void>): unknown
  beforeEach(run: () => Promise<void>): unknown
  afterEach(run: () => Promise<void>): unknown
  readonly expect: Expect
}

export interface Expect {
  (actual: unknown): Matchers & { readonly not: Matchers; readonly rejects: AsyncMatchers }
  any(type: NumberConstructor): unknown
  objectContaining(part: object): unknown
}

interface Matchers {
  toBe(expected: unknown): void
  toBeDefined(): void
  toBeGreaterThan(least: number): void
  toBeLessThanOrEqual(most: number): void
  toBeUndefined(): void
  toContain(item: unknown): void
  toContainEqual(item: unknown): void
  toEqual(expected: unknown): void
  toHaveLength(length: number): void
  toHaveProperty(name: string): void
  toMatch(pattern: RegExp | string): void
  toMatchObject(part: object): void
}

interface AsyncMatchers {
  toMatchObject(part: object): Promise<void>
  toThrow(message?: string | RegExp): Promise<void>
}

/** What a file of cases receives. */
export interface Suite {
  describe(title: string, body: () => void): void
  readonly it: It
  readonly expect: Expect
}

interface It {
  (title: string, run: () => Promise<void>): void
  /** One case per row. The placeholders of the title are filled as `util.format` does. */
  each<const T extends readonly unknown[]>(
    rows: readonly T[],
  ): (title: string, run: (...row: Mutable<T>) => Promise<void>) => void
  each<const T>(rows: readonly T[]): (title: string, run: (value: T) => Promise<void>) => void
}

type Mutable<T extends readonly unknown[]> = [...T]

/** Tables of cases are built here, so that a framework needs no `it.each`. */
export function suiteOf({ describe, it, expect }: TestFramework): Suite {
  const each =
    (rows: readonly unknown[]) =>
    (title: string, run: (...row: unknown[]) => Promise<void>): void => {
      const places = title.match(/%[sij]/g)?.length ?? 0
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row]
        it(format(title, ...values.slice(0, places)), () => run(...values))
      }
    }
  const one = (title: string, run: () => Promise<void>): void => void it(title, run)
  return { describe: (title, body) => void describe(title, body), it: Object.assign(one, { each }) as It, expect }
}
