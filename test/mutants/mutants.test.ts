import { copyFileSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compile, live, liveThese, ROOT } from '../simulation/children.js'
import { FIRST_SEED_OF, MOOD_EVERY } from '../simulation/world/plan.js'
import { MUTANTS, type Mutant } from './mutants.js'

/** The number of seeds that a mutant may survive. */
const SEEDS_MAX = 250
const AT_ONCE = 2
/** The folder is inside the repository, so that the mutants find its packages. Two test runs may use it at once. */
const CACHE = join(ROOT, '.cache', 'mutants', `${process.pid}`)
const SOUND = join(CACHE, 'sound')

interface Verdict {
  readonly mutant: Mutant
  /** The seed that caught it and the promise that it broke; undefined if no seed caught it. */
  readonly caught: { readonly seed: number; readonly promise: string } | undefined
  readonly seeds: number
}

/** Only seeds that run on the mutated store can catch a bug of it: the odd seeds use SQLite. */
function seedsFor({ file, mood, from }: Mutant): { from: number; step: number } {
  if (mood) return { from: from ?? FIRST_SEED_OF[mood], step: MOOD_EVERY }
  return { from: from ?? 1, step: file.startsWith('src/store/') ? 2 : 1 }
}

const directoryOf = (name: string): string => join(CACHE, 'run', name.replaceAll(/[^a-z0-9]+/g, '-'))

/**
 * For each mutant, the original code with one file replaced; compiled together, because starting a compiler takes
 * longest.
 */
function breed(): void {
  rmSync(CACHE, { recursive: true, force: true })
  compile(ROOT, SOUND)
  const sources = join(CACHE, 'sources')
  const compiled = join(CACHE, 'compiled')
  for (const { name, file, find, replace } of MUTANTS) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const path = join(sources, directoryOf(name).slice(CACHE.length), file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(
      path,
      text.replace(find, () => replace),
    )
  }
  compile(sources, compiled, ['**/*.ts'])
  const files = readdirSync(SOUND, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(SOUND, join(entry.parentPath, entry.name)))
  for (const { name, file } of MUTANTS) {
    const changed = file.replace(/\.ts$/, '.js')
    const home = directoryOf(name)
    for (const directory of new Set(files.map(dirname))) mkdirSync(join(home, directory), { recursive: true })
    // Uses links, because thirty full copies would take longer than the search.
    for (const path of files) if (path !== changed) linkSync(join(SOUND, path), join(home, path))
    copyFileSync(join(compiled, home.slice(CACHE.length), changed), join(home, changed))
  }
}

async function hunt(mutant: Mutant): Promise<Verdict> {
  const { from, step } = seedsFor(mutant)
  const where = ['--from', `${from}`, '--step', `${step}`, '--seeds', `${SEEDS_MAX}`]
  const { lived, broken } = await live(directoryOf(mutant.name), ...where, '--stop')
  return { mutant, caught: broken[0], seeds: lived }
}

async function huntAll(): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  const left = [...MUTANTS]
  const hunter = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) verdicts.push(await hunt(mutant))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, hunter))
  return verdicts
}

function table(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ mutant, caught, seeds }) => [
    mutant.name,
    caught?.promise ?? 'GOT AWAY',
    `${seeds}`,
    `${caught?.seed ?? ''}`,
  ])
  const widths = [0, 1, 2, 3].map(column => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n')
}

describe('known bugs, reintroduced', () => {
  it.each(MUTANTS)('$name: still matches the code', ({ file, find }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(find).length - 1, `${file} has\n${find}`).toBe(1)
  })

  describe('the simulation', () => {
    let verdicts: Verdict[] = []

    beforeAll(async () => {
      breed()
      verdicts = await huntAll()
      console.log(`Mutant, the promise that it broke, seeds until then, seed:\n${table(verdicts)}`)
    }, 300_000)

    afterAll(() => rmSync(CACHE, { recursive: true, force: true }))

    it.each(MUTANTS)('catches: $name', mutant => {
      expect(verdicts.find(verdict => verdict.mutant === mutant)?.caught).toBeDefined()
    })

    it('finds no fault in the original code, on the seeds that caught the mutants', async () => {
      const seeds = new Set(verdicts.flatMap(({ caught }) => caught?.seed ?? []))
      const { broken } = await liveThese(SOUND, [...seeds])
      expect(broken).toEqual([])
    }, 300_000)
  })
})
