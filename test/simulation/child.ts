import { parseArgs } from 'node:util'
import { Coverage } from './coverage.js'
import { simulate, story } from './simulate.js'

// A process that simulates some seeds: `--from A --seeds N [--step S]`, or `--these 1,5,9`. It prints the results as
// one line of JSON. `--stop` ends at the first broken promise; `--all` prints whole traces, broken or not.

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    step: { type: 'string', default: '1' },
    these: { type: 'string' },
    stop: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
  },
})

/** Traces are long: if there are more than a few, only the seeds are printed. */
const STORIES_MAX = 5

const coverage = new Coverage()
const broken: { seed: number; promise: string; story?: string }[] = []
let lived = 0
let events = 0
const [from, step] = [Number(values.from), Number(values.step)]
const these = values.these?.split(',').map(Number)
for (const seed of these ?? Array.from({ length: Number(values.seeds) }, (_, index) => from + index * step)) {
  const life = await simulate(seed)
  lived++
  events += life.events
  coverage.add(life.coverage)
  if (values.all) console.error(life.trace.last(life.trace.length).join('\n'))
  const [first] = life.violations
  if (!first) continue
  broken.push({ seed, promise: first.promise, ...(broken.length < STORIES_MAX && { story: story(life) }) })
  if (values.stop) break
}
console.log(JSON.stringify({ lived, events, broken, coverage: Object.fromEntries(coverage.counts) }))
