import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argumentsOf, wholeNumber } from '../../build/arguments.js'
import { ROOT } from '../simulation/children.js'
import { Graph } from './graph.js'

// Names for each mutant the seed that catches it with the least work, as its `from`. Seeds drift when the world of the
// simulation changes, and a mutant that its seed no longer catches is hunted through all others, which takes long.

const USAGE = `npm run mutants:seeds                    names a seed for each mutant that its seed catches late or not at all
npm run mutants:seeds -- --events 3000   late is after more events than that
`

const { values } = argumentsOf(USAGE, { options: { events: { type: 'string', default: '3000' } } })
/** A mutant that is caught at the first try after fewer events keeps its seed. */
const EVENTS_MAX = wholeNumber('--events', values.events)
const FOLDER = join(ROOT, 'test', 'mutants', 'bugs')

/** @typedef {import('./mutant.js').Mutant} Mutant */
const original = await Graph.with()
const { MUTANTS } = /** @type {{ MUTANTS: readonly Mutant[] }} */ (await original.load('test/mutants/mutants.ts'))
const { seedsFor } = await original.load('test/mutants/mutant.ts')
const { simulate } = await original.load('test/simulation/simulate.ts')

/** @type {Map<number, number>} */
const works = new Map()

/**
 * The number of events in a seed of the original code, which is the work of a try. A seed that breaks a promise without
 * any mutant is of no use.
 *
 * @param {number} seed
 */
async function workOf(seed) {
  const known = works.get(seed)
  if (known !== undefined) return known
  const { events, violations } = await simulate(seed)
  if (violations.length > 0) console.log(`seed ${seed} breaks a promise of the original code`)
  const work = violations.length > 0 ? Number.POSITIVE_INFINITY : events
  works.set(seed, work)
  return work
}

/** @param {Mutant} mutant */
async function bestSeed(mutant) {
  const graph = await Graph.with(mutant)
  const mutation = await graph.load('test/simulation/simulate.ts')
  /** @param {number} seed */
  const catches = async seed => (await mutation.simulate(seed)).violations.length > 0
  const seeds = /** @type {number[]} */ (seedsFor(mutant))
  const [first = 1] = seeds
  if ((await workOf(first)) < EVENTS_MAX && (await catches(first))) return first
  for (const seed of seeds) await workOf(seed)
  const workable = seeds.filter(seed => Number.isFinite(works.get(seed)))
  workable.sort((a, b) => (works.get(a) ?? 0) - (works.get(b) ?? 0))
  for (const seed of workable) if (await catches(seed)) return seed
  return undefined
}

/**
 * @param {string} text of a file of mutants
 * @param {string} name
 * @param {number} seed
 */
function named(text, name, seed) {
  const [line] = [`name: '${name}',`, `name: "${name}",`].filter(each => text.includes(each))
  if (line === undefined) return text
  const at = text.indexOf(line) + line.length
  const rest = text.slice(at).replace(/^\n {4}from: \d+,/, '')
  return `${text.slice(0, at)}\n    from: ${seed},${rest}`
}

const found = new Map()
for (const mutant of MUTANTS.filter(({ killer }) => killer === undefined)) {
  const seed = await bestSeed(mutant)
  console.log(`${seed ?? 'NONE'}  ${mutant.name}`)
  if (seed !== undefined) found.set(mutant.name, seed)
}
for (const file of readdirSync(FOLDER)) {
  const path = join(FOLDER, file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    [...found].reduce((each, [name, seed]) => named(each, name, seed), text),
  )
}
