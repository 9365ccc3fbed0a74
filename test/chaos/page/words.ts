const JOBS: Readonly<Record<string, string>> = {
  abort: 'aborting jobs',
  memory: 'memory-consuming jobs',
  endless: 'endless jobs',
  blocking: 'blocking jobs',
  bystander: 'harmless jobs',
}

/** Sizes that are no number of things. */
const SIZES: Readonly<Record<string, (size: number) => string>> = {
  everyStatement: each => (each === 1 ? 'before every statement' : `before one statement in ${amount(each)}`),
  crashEverySeconds: seconds => `a crash every ${seconds === 1 ? 'second' : `${amount(seconds)} seconds`}`,
  perSecond: rate => `a rate of ${amount(rate)}/s`,
  usedPercent: share => `at least ${share} % of the rate used`,
  idleMs: most => `no partition idle for ${amount(most)} ms`,
}

/** The size of a scenario in words: `500 kills`, `a crash every 60 seconds`. */
export function sizeWords(name: string, size: number): string {
  return SIZES[name]?.(size) ?? many(size, JOBS[name] ?? name)
}

/** What happened in words: `1 job redriven`, `slowest answer 404 ms`. */
export function countWords(what: string, count: number): string {
  const [, measured, unit] = /^(.*), (ms|MB|%)$/.exec(what) ?? []
  if (measured !== undefined) return `${measured} ${amount(count)} ${unit}`
  if (what === 'bodies answered closed') return many(count, 'bodies whose connection was closed')
  return many(
    count,
    what.replace(/^\w+(?=: )/, name => JOBS[name] ?? name),
  )
}

export function amount(count: number): string {
  return count.toLocaleString('en-US')
}

function many(count: number, things: string): string {
  return `${amount(count)} ${count === 1 ? things.replace(/\b[a-z]+s(?<!ss)(?![\w-])/, one) : things}`
}

function one(things: string): string {
  return things
    .replace(/ies$/, 'y')
    .replace(/(ss|sh)es$/, '$1s')
    .replace(/s$/, '')
}
