/**
 * A strict reader of the Prometheus text format (0.0.4), written from its specification alone: a server might refuse
 * what this refuses.
 */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/

interface Draft {
  readonly name: string
  help?: string
  type?: Family['type']
  readonly samples: Sample[]
}

export function parseExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line must end')
  const families = new Map<string, Draft>()
  let current: Draft | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue
    if (!line.startsWith('#')) {
      addSample(current, line)
      continue
    }
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/s.exec(line) ?? fail(`what is ${line}?`)
    if (!NAME.test(name)) fail(`${name} is no name`)
    if (current?.name !== name) {
      if (families.has(name)) fail(`${name} comes twice`)
      current = { name, samples: [] }
      families.set(name, current)
    }
    if (current.samples.length > 0) fail(`${line} after samples`)
    if (keyword === 'HELP') setHelp(current, rest)
    else setType(current, rest)
  }
  return new Map([...families].map(([name, draft]) => [name, checked(draft)]))
}

/** The value of the one sample with exactly these labels. */
export function valueIn(families: ReadonlyMap<string, Family>, name: string, labels: Sample['labels'] = {}): number {
  const all = [...families.values()].flatMap(({ samples }) => samples)
  const found = all.filter(sample => sample.name === name && keyOf(sample.labels) === keyOf(labels))
  if (found.length !== 1) fail(`${found.length} samples of ${name} ${JSON.stringify(labels)}`)
  return found[0]!.value
}

/** The sum of all samples of a name that have at least these labels. */
export function sumOf(families: ReadonlyMap<string, Family>, name: string, labels: Sample['labels'] = {}): number {
  const all = [...families.values()].flatMap(({ samples }) => samples).filter(sample => sample.name === name)
  const fitting = all.filter(sample => Object.entries(labels).every(([label, text]) => sample.labels[label] === text))
  return fitting.reduce((sum, { value }) => sum + value, 0)
}

function setHelp(family: Draft, text: string): void {
  if (family.help !== undefined || family.type !== undefined) fail(`HELP of ${family.name} must come first, and once`)
  family.help = text.replace(/\\(.)/g, (_, character: string) =>
    character === 'n' ? '\n' : character === '\\' ? '\\' : fail(`\\${character} in a HELP`),
  )
}

function setType(family: Draft, type: string): void {
  if (family.type !== undefined || family.help === undefined) fail(`TYPE of ${family.name} must come after HELP, once`)
  if (type !== 'counter' && type !== 'gauge' && type !== 'histogram' && type !== 'summary') fail(`type ${type}`)
  else family.type = type
}

function addSample(family: Draft | undefined, line: string): void {
  if (!family?.type) fail(`no TYPE before ${line}`)
  const reader = { line, at: 0 }
  const name = take(reader, /[a-zA-Z_:][a-zA-Z0-9_:]*/y)
  const labels = line[reader.at] === '{' ? takeLabels(reader) : {}
  take(reader, / /y)
  const value = numberOf(take(reader, /\S+/y))
  if (reader.at !== line.length) fail(`what follows the value in ${line}?`)
  const suffix = name.slice(family!.name.length)
  const known: Readonly<Record<Family['type'], readonly string[]>> = {
    counter: [''],
    gauge: [''],
    histogram: ['_bucket', '_sum', '_count'],
    summary: ['', '_sum', '_count'],
  }
  if (!name.startsWith(family!.name) || !known[family!.type!].includes(suffix)) fail(`${name} under ${family!.name}`)
  family!.samples.push({ name, labels, value })
}

interface Reader {
  readonly line: string
  at: number
}

function take(reader: Reader, pattern: RegExp): string {
  pattern.lastIndex = reader.at
  const found = pattern.exec(reader.line)?.[0]
  if (found === undefined) fail(`expected ${pattern} at ${reader.at} of ${reader.line}`)
  reader.at += found!.length
  return found!
}

function takeLabels(reader: Reader): Record<string, string> {
  const labels: Record<string, string> = {}
  take(reader, /\{/y)
  while (reader.line[reader.at] !== '}') {
    const label = take(reader, /[a-zA-Z_][a-zA-Z0-9_]*/y)
    if (!LABEL.test(label) || label.startsWith('__') || label in labels) fail(`label ${label} in ${reader.line}`)
    take(reader, /="/y)
    let value = ''
    while (reader.line[reader.at] !== '"') {
      const part = take(reader, /\\[\\n"]|[^\\"]/y)
      value += part === '\\n' ? '\n' : part.replace(/^\\/, '')
    }
    take(reader, /"/y)
    labels[label] = value
    if (reader.line[reader.at] !== '}') take(reader, /,/y)
  }
  take(reader, /\}/y)
  return labels
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY
  if (text === '-Inf') return Number.NEGATIVE_INFINITY
  if (text === 'NaN') return Number.NaN
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) fail(`${text} is no number`)
  return Number(text)
}

function checked({ name, help, type, samples }: Draft): Family {
  if (help === undefined || type === undefined) fail(`${name} has no HELP or no TYPE`)
  const seen = new Set<string>()
  for (const sample of samples) {
    const key = `${sample.name} ${keyOf(sample.labels)}`
    if (seen.has(key)) fail(`${key} comes twice`)
    seen.add(key)
    if (type === 'counter' && !(sample.value >= 0)) fail(`${key} counts ${sample.value}`)
  }
  if (type === 'histogram') checkHistogram(name, samples)
  return { name, help: help!, type: type!, samples }
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const series = new Map<string, { buckets: [le: number, value: number][]; sum?: number; count?: number }>()
  for (const { name: own, labels, value } of samples) {
    const { le, ...rest } = labels
    const one = series.get(keyOf(rest)) ?? { buckets: [] }
    series.set(keyOf(rest), one)
    if (own.endsWith('_bucket')) one.buckets.push([numberOf(le ?? fail(`a bucket of ${name} without le`)), value])
    else if (own.endsWith('_sum')) one.sum = value
    else one.count = value
  }
  for (const [key, { buckets, sum, count }] of series) {
    const where = `${name} ${key}`
    const last = buckets.at(-1) ?? fail(`${where} has no buckets`)
    if (last[0] !== Number.POSITIVE_INFINITY || last[1] !== count) fail(`${where}: +Inf has ${last[1]} of ${count}`)
    if (sum === undefined) fail(`${where} has no sum`)
    for (const [index, [le, value]] of buckets.entries()) {
      const before = buckets[index - 1]
      if (before && (le <= before[0] || value < before[1])) fail(`${where}: bucket ${le} does not follow ${before[0]}`)
    }
  }
}

function keyOf(labels: Sample['labels']): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function fail(why: string): never {
  throw new Error(`no valid exposition: ${why}`)
}
