/**
 * YAML, as far as our own files use it: blocks, flows, quotes, anchors and merges. What it does not know it refuses, so
 * that a file is either understood or found fault with.
 */
export type Yaml = string | number | boolean | null | readonly Yaml[] | { readonly [key: string]: Yaml }

export function parseYaml(text: string): readonly Yaml[] {
  return text.split(/^---$/m).map(document => new Reader(document).read())
}

interface Line {
  readonly indent: number
  readonly text: string
}

const KEY = /^("[^"]*"|'[^']*'|[^\s:#"'{[&*-][^:#]*?|<<):(?:\s+(.*))?$/

class Reader {
  readonly #lines: readonly Line[]
  readonly #anchors = new Map<string, Yaml>()
  #at = 0

  constructor(text: string) {
    if (text.includes('\t')) throw new Error('YAML has no tabs')
    this.#lines = text
      .split('\n')
      .map(line => ({ indent: line.length - line.trimStart().length, text: withoutComment(line.trim()) }))
      .filter(({ text: rest }) => rest !== '')
  }

  read(): Yaml {
    if (this.#lines.length === 0) return null
    const value = this.#block(this.#lines[0]!.indent)
    if (this.#at < this.#lines.length) throw new Error(`what is ${JSON.stringify(this.#lines[this.#at])}?`)
    return value
  }

  #block(indent: number): Yaml {
    return this.#lines[this.#at]!.text.startsWith('- ') ? this.#sequence(indent) : this.#mapping(indent)
  }

  #sequence(indent: number): readonly Yaml[] {
    const items: Yaml[] = []
    for (let line = this.#lines[this.#at]; line?.indent === indent && line.text.startsWith('- '); ) {
      const rest = line.text.slice(2).trim()
      if (KEY.test(rest) && !/^["'[{]/.test(rest)) {
        // The first pair of a mapping stands where the dash is.
        ;(this.#lines as Line[])[this.#at] = { indent: indent + 2, text: rest }
        items.push(this.#mapping(indent + 2))
      } else {
        this.#at++
        items.push(this.#scalar(rest))
      }
      line = this.#lines[this.#at]
    }
    return items
  }

  #mapping(indent: number): Yaml {
    const pairs: Record<string, Yaml> = {}
    let merged: Record<string, Yaml> = {}
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      const [, rawKey, rest = ''] = KEY.exec(line.text) ?? []
      if (rawKey === undefined) throw new Error(`no key in ${JSON.stringify(line.text)}`)
      this.#at++
      const key = String(this.#scalar(rawKey))
      const value = this.#valueOf(rest, indent)
      if (key === '<<') merged = value as Record<string, Yaml>
      else if (key in pairs) throw new Error(`${key} comes twice`)
      else pairs[key] = value
    }
    if ((this.#lines[this.#at]?.indent ?? 0) > indent)
      throw new Error(`indented too far: ${this.#lines[this.#at]!.text}`)
    return { ...merged, ...pairs }
  }

  #valueOf(rest: string, indent: number): Yaml {
    const [, anchor, own = ''] = /^&(\w+)\s*(.*)$/.exec(rest) ?? [undefined, undefined, rest]
    const next = this.#lines[this.#at]
    const isNested =
      next !== undefined && (next.indent > indent || (next.indent === indent && next.text.startsWith('- ')))
    const value = own !== '' ? this.#scalar(own) : isNested ? this.#block(next.indent) : null
    if (anchor !== undefined) this.#anchors.set(anchor, value)
    return value
  }

  #scalar(text: string): Yaml {
    if (/^[|>!%@`]/.test(text)) throw new Error(`not understood: ${text}`)
    if (text.startsWith('*')) {
      const known = this.#anchors.get(text.slice(1))
      if (known === undefined) throw new Error(`there is no ${text}`)
      return known
    }
    const flow = new Flow(text)
    const value = flow.value('')
    flow.end()
    return value
  }
}

/** A value on one line. */
class Flow {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  end(): void {
    this.#space()
    if (this.#at < this.#text.length) throw new Error(`what follows in ${this.#text}?`)
  }

  value(until: string): Yaml {
    this.#space()
    switch (this.#text[this.#at]) {
      case '[':
        return this.#list()
      case '{':
        return this.#map()
      case '"':
        return JSON.parse(this.#take(/"(?:[^"\\]|\\.)*"/y)) as string
      case "'":
        return this.#take(/'(?:[^']|'')*'/y)
          .slice(1, -1)
          .replaceAll("''", "'")
      default:
        return plain(this.#take(until === '' ? /.*/y : new RegExp(`[^${until}]*`, 'y')).trim())
    }
  }

  #list(): readonly Yaml[] {
    const items: Yaml[] = []
    this.#at++
    for (this.#space(); this.#text[this.#at] !== ']'; this.#next(']')) items.push(this.value(',\\]'))
    this.#at++
    return items
  }

  #map(): Yaml {
    const pairs: Record<string, Yaml> = {}
    this.#at++
    for (this.#space(); this.#text[this.#at] !== '}'; this.#next('}')) {
      const key = String(this.value(':,}'))
      this.#take(/:\s+/y)
      if (key in pairs) throw new Error(`${key} comes twice`)
      pairs[key] = this.value(',}')
    }
    this.#at++
    return pairs
  }

  #next(end: string): void {
    this.#space()
    if (this.#text[this.#at] === ',') this.#at++
    else if (this.#text[this.#at] !== end) throw new Error(`expected , or ${end} in ${this.#text}`)
    this.#space()
  }

  #space(): void {
    this.#take(/\s*/y)
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) throw new Error(`expected ${pattern} at ${this.#at} of ${this.#text}`)
    this.#at += found.length
    return found
  }
}

function plain(text: string): Yaml {
  if (text === '' || text === '~' || text === 'null') return null
  if (text === 'true' || text === 'false') return text === 'true'
  return /^[-+]?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text
}

/** A comment begins at the line's begin, or after a space; never inside quotes. */
function withoutComment(line: string): string {
  let quote = ''
  for (const [index, character] of [...line].entries()) {
    if (quote !== '') quote = character === quote ? '' : quote
    else if (character === '"' || character === "'") quote = character
    else if (character === '#' && (index === 0 || line[index - 1] === ' ')) return line.slice(0, index).trim()
  }
  return line
}
