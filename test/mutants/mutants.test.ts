import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compile, live, liveMany, ROOT } from '../simulation/children.js'
import { MUTANTS, type Mutant } from './mutants.js'

/** So many seeds a mutant may survive. */
const SEEDS_MAX = 120
const AT_ONCE = 2
const CACHE = join(ROOT, '.cache', 'mutants')
const SOUND = join(CACHE, 'sound')

interface Verdict {
  readonly mutant: Mutant
  /** The seed that caught it and the promise that it broke; undefined where it got away. */
  readonly caught: { readonly seed: number; readonly promise: string } | undefined
  readonly seeds: number
}

/** Only what runs on the mutated store can see a bug of it: the odd seeds are on SQLite. */
const stepOf = ({ file }: Mutant): number => (file.startsWith('src/store/') ? 2 : 1)

const directoryOf = (name: string): string => join(CACHE, 'run', name.replaceAll(/[^a-z0-9]+/g, '-'))

/** The sound code with one file exchanged, for every mutant; compiled together, because starting a compiler takes longest. */
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
  for (const { name } of MUTANTS) cpSync(SOUND, directoryOf(name), { recursive: true })
  cpSync(join(compiled, 'run'), join(CACHE, 'run'), { recursive: true })
}

async function hunt(mutant: Mutant): Promise<Verdict> {
  const { name, from = 1 } = mutant
  const where = ['--from', `${from}`, '--step', `${stepOf(mutant)}`, '--seeds', `${SEEDS_MAX}`]
  const { lived, broken } = await live(directoryOf(name), ...where, '--stop')
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
  const rows = verdicts.map(({ mutant, caught, seeds }) => [mutant.name, caught?.promise ?? 'GOT AWAY', `${seeds}`])
  const widths = [0, 1, 2].map(column => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n')
}

describe('known bugs, put back', () => {
  it.each(MUTANTS)('$name: is still about this code', ({ file, find }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(find).length - 1, `${file} has\n${find}`).toBe(1)
  })

  describe('the simulation', () => {
    let verdicts: Verdict[] = []

    beforeAll(async () => {
      breed()
      verdicts = await huntAll()
      console.log(`Mutant, the promise that it broke, seeds until then:\n${table(verdicts)}`)
    }, 300_000)

    it.each(MUTANTS)('catches: $name', mutant => {
      expect(verdicts.find(verdict => verdict.mutant === mutant)?.caught).toBeDefined()
    })

    it('finds no fault with the code as it is, on the same seeds', async () => {
      const seeds = Math.max(...verdicts.map(({ mutant, seeds: count }) => count * stepOf(mutant)))
      const { broken } = await liveMany(SOUND, 1, seeds)
      expect(broken).toEqual([])
    }, 300_000)
  })
})
