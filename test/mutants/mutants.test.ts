import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { ROOT, V8_FLAGS } from '../simulation/children.js'
import { postgresUrl } from '../support/postgres.js'
import { type Mutant, seedsFor } from './mutant.js'
import { MUTANTS } from './mutants.js'

const AT_ONCE = 2
/** Seeds up to this one are lived by the simulation's own test. */
const LIVED = 200

interface Caught {
  /** The seed or the check. */
  readonly by: string
  readonly what: string
}

interface Verdict {
  readonly lived: number
  readonly caught: readonly Caught[]
}

interface Task {
  readonly bug?: Pick<Mutant, 'file' | 'find' | 'replace'>
  readonly killer?: string
  readonly seeds?: readonly number[]
}

function taskOf(mutant: Mutant): Task {
  const { file, find, replace, killer } = mutant
  return { bug: { file, find, replace }, ...(killer === undefined ? { seeds: seedsFor(mutant) } : { killer }) }
}

/** Processes that share the work: each tries one after the other. */
async function tryAll(tasks: readonly Task[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  const left = [...tasks.entries()]
  const hunter = async (): Promise<void> => {
    const child = fork(fileURLToPath(new URL('child.js', import.meta.url)), {
      execArgv: ['--experimental-vm-modules', '--no-warnings', ...V8_FLAGS],
      env: { ...process.env, CHRONOS_TEST_POSTGRES_URL: await postgresUrl() },
    })
    try {
      for (let next = left.shift(); next; next = left.shift()) verdicts[next[0]] = await ask(child, next[1])
    } finally {
      child.kill()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, hunter))
  return verdicts
}

function ask(child: ChildProcess, task: Task): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error(`the process that tried ${task.bug?.file ?? 'the original code'} ended`))
    child.once('exit', fail)
    child.once('message', ({ verdict, error }: { verdict?: Verdict; error?: string }) => {
      child.off('exit', fail)
      if (verdict) resolve(verdict)
      else reject(new Error(error))
    })
    child.send(task)
  })
}

function table(verdicts: readonly Verdict[]): string {
  const rows = MUTANTS.map(({ name }, index) => {
    const { caught, lived } = verdicts[index]!
    return [name, caught[0]?.what.slice(0, 80) ?? 'GOT AWAY', caught[0]?.by ?? '', `${lived}`]
  })
  const widths = [0, 1, 2, 3].map(column => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n')
}

describe('known bugs, reintroduced', () => {
  it.each(MUTANTS)('$name: still matches the code', ({ file, find }) => {
    const found = readFileSync(join(ROOT, file), 'utf8').split(find).length - 1
    const wayOut = 'adapt `find` and `replace` of this mutant to the code, so that the bug is the same'
    expect(found, `${file} has this text ${found} times instead of once; ${wayOut}:\n${find}`).toBe(1)
  })

  it('has at least sixty of them, each with a name of its own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(60)
  })

  describe('the simulation and the checks', () => {
    let verdicts: Verdict[] = []

    beforeAll(async () => {
      verdicts = await tryAll(MUTANTS.map(taskOf))
      console.log(`Mutant, what it broke, the seed or check that caught it, tries:\n${table(verdicts)}`)
      const late = verdicts.filter(({ lived }) => lived > 1).length
      if (late > 0) console.log(`${late} were caught late: npm run mutants:seeds names better seeds for them`)
    }, 900_000)

    it.each(MUTANTS.map((mutant, index) => ({ ...mutant, index })))('catch: $name', ({ index }) => {
      expect(verdicts[index]?.caught[0]).toBeDefined()
    })

    it('find no fault in the original code', async () => {
      const caught = verdicts.flatMap(verdict => verdict.caught)
      const seeds = [...new Set(caught.flatMap(({ by }) => (by.startsWith('seed ') ? [Number(by.slice(5))] : [])))]
      const checks = [...new Set(MUTANTS.flatMap(({ killer }) => killer ?? []))]
      const tasks = [{ seeds: seeds.filter(seed => seed > LIVED) }, ...checks.map(killer => ({ killer }))]
      const faults = (await tryAll(tasks)).flatMap(verdict => verdict.caught)
      expect(faults).toEqual([])
    }, 900_000)
  })
})
