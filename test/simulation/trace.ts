import { createHash } from 'node:crypto'

interface Line {
  readonly at: number
  readonly who: string
  readonly what: string
  readonly details: readonly unknown[]
}

/** The events in order. Lines become text only when they are read. */
export class Trace {
  readonly #lines: Line[] = []
  readonly #names = new Map<string, string>()
  readonly #startAt: number

  constructor(startAt: number) {
    this.#startAt = startAt
  }

  say(at: number, who: string, what: string, ...details: readonly unknown[]): void {
    this.#lines.push({ at, who, what, details })
  }

  /** Shows ids and tokens by a short name. */
  name(id: string, name: string): void {
    if (!this.#names.has(id)) this.#names.set(id, name)
  }

  last(count: number): string[] {
    return this.#lines.slice(-count).map(line => this.#text(line))
  }

  /** The same for two simulations with the same events. */
  hash(): string {
    const hash = createHash('sha256')
    for (const line of this.#lines) hash.update(this.#text(line)).update('\n')
    return hash.digest('hex')
  }

  get length(): number {
    return this.#lines.length
  }

  #text({ at, who, what, details }: Line): string {
    const seconds = ((at - this.#startAt) / 1000).toFixed(3).padStart(8)
    return [seconds, who.padEnd(6), what, ...details.map(detail => this.#detail(detail))].join(' ')
  }

  #detail(detail: unknown): string {
    const text = typeof detail === 'string' ? detail : JSON.stringify(detail)
    return text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, id => this.#names.get(id) ?? id).replace(TOKEN, '$1…')
  }
}

const TOKEN = /\b([0-9a-f]{4})[0-9a-f]{28}\b/g
