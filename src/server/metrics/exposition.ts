import type { MetricFacts } from './catalog.js'

/** One line, or one histogram, of a metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | Buckets
}

/** A histogram. */
export class Buckets {
  readonly bounds: readonly number[]
  /** Observations of each bucket alone; the text adds them up. */
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

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Renders a catalog in the Prometheus text format, version 0.0.4. */
export function exposition<Name extends string>(
  catalog: Readonly<Record<Name, MetricFacts>>,
  samples: ReadonlyMap<Name, readonly Sample[]>,
  prefix = '',
): string {
  const lines: string[] = []
  for (const key of Object.keys(catalog) as Name[]) {
    const name = prefix + key
    const { help, type } = catalog[key]
    lines.push(`# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}`, `# TYPE ${name} ${type}`)
    for (const sample of samples.get(key) ?? []) lines.push(...linesOf(name, sample))
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

/** Six digits after the point hide the rounding errors of floating-point sums. */
const numberText = (value: number): string => String(Number(value.toFixed(6)))
