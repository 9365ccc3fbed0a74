import { CATALOG, type MetricFacts, type MetricName, PREFIX } from './catalog.js'

/** One line, or one histogram, of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | Buckets
}

/** How often what was how long. */
export class Buckets {
  readonly bounds: readonly number[]
  /** By bucket, and not yet added up. */
  readonly counts: number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.sum += value
    this.count++
    for (let index = 0; index < this.bounds.length; index++) {
      if (value > this.bounds[index]!) continue
      this.counts[index]!++
      return
    }
  }
}

/** The text format of Prometheus, version 0.0.4. */
export function exposition(samples: ReadonlyMap<MetricName, readonly Sample[]>): string {
  const lines: string[] = []
  for (const [key, facts] of Object.entries<MetricFacts>(CATALOG)) {
    const name = PREFIX + key
    lines.push(`# HELP ${name} ${facts.help.replace(/[\\\n]/g, escaped)}`, `# TYPE ${name} ${facts.type}`)
    for (const sample of samples.get(key as MetricName) ?? []) lines.push(...linesOf(name, sample))
  }
  return `${lines.join('\n')}\n`
}

function linesOf(name: string, { labels, value }: Sample): readonly string[] {
  const own = Object.entries(labels).map(([label, text]) => `${label}="${text.replace(/[\\\n"]/g, escaped)}"`)
  if (typeof value === 'number') return [`${name}${inBraces(own)} ${numberText(value)}`]
  let upTo = 0
  const buckets = value.bounds.map((bound, index) => {
    upTo += value.counts[index]!
    return `${name}_bucket${inBraces([...own, `le="${bound}"`])} ${upTo}`
  })
  return [
    ...buckets,
    `${name}_bucket${inBraces([...own, 'le="+Inf"'])} ${value.count}`,
    `${name}_sum${inBraces(own)} ${numberText(value.sum)}`,
    `${name}_count${inBraces(own)} ${value.count}`,
  ]
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}

const inBraces = (labels: readonly string[]): string => (labels.length === 0 ? '' : `{${labels.join(',')}}`)

/** Sums of floating point end in noise that nobody wants to read or store. */
const numberText = (value: number): string => String(Number(value.toFixed(6)))
