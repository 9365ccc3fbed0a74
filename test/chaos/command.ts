import { argumentsOf, refuse } from '../../build/arguments.js'
import { writePage } from './page/page.js'
import { RESULT_PATH, readResult, writeResult } from './result.js'
import { type Outcome, runScenario, type Size } from './scenario.js'
import { SCENARIOS } from './scenarios.js'
import { blockOf } from './table.js'

const HELP = `npm run chaos -- [options]

  --only TEXT        run the scenarios whose name contains the text; repeat it for several
  --size NAME=N      change a size, such as kills=50; repeat it for several
  --slice            the sizes of npm test
  --json FILE        where the result goes (default: test/chaos/result.json)
  --write-docs       write docs/reliability.md from the result file, and run nothing
  --list             list the scenarios and their sizes
  --help             show this help
`

const OPTIONS = {
  only: { type: 'string', multiple: true },
  size: { type: 'string', multiple: true },
  slice: { type: 'boolean', default: false },
  json: { type: 'string', default: RESULT_PATH },
  'write-docs': { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
} as const

/** Runs the chosen scenarios one after another; resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = argumentsOf(HELP, { options: OPTIONS }, args)
  const chosen = SCENARIOS.filter(({ name }) => values.only?.some(text => name.includes(text)) ?? true)
  if (chosen.length === 0) refuse(`no scenario is named ${values.only?.join(' or ')}; see --list`)
  if (values.list) return say(chosen.map(({ name, full }) => `${name}  ${JSON.stringify(full)}\n`).join(''))
  if (values['write-docs']) {
    writePage(readResult(values.json))
    return 0
  }
  const changes = sizesOf(values.size ?? [], new Set(chosen.flatMap(({ full }) => Object.keys(full))))
  const outcomes: Outcome[] = []
  for (const scenario of chosen) {
    const size = { ...(values.slice ? scenario.slice : scenario.full) }
    for (const name of Object.keys(size)) if (changes[name] !== undefined) size[name] = changes[name]
    const outcome = await runScenario(scenario, size)
    say(`${blockOf(outcome)}\n\n`)
    outcomes.push(outcome)
    writeResult(
      values.json,
      [outcome],
      SCENARIOS.map(({ name }) => name),
    )
  }
  const failed = outcomes.filter(({ violations, missing }) => violations.length + missing.length > 0)
  say(failed.length === 0 ? 'Every promise was kept.\n' : `Failed: ${failed.map(one => one.scenario).join(', ')}\n`)
  return failed.length === 0 ? 0 : 1
}

function sizesOf(given: readonly string[], known: ReadonlySet<string>): Size {
  return Object.fromEntries(
    given.map(text => {
      const [, name, value] = /^(\w+)=(\d+)$/.exec(text) ?? []
      if (name === undefined) return refuse(`--size ${text}: expected NAME=N, such as kills=50`)
      if (!known.has(name)) return refuse(`--size ${text}: the chosen scenarios have ${[...known].join(', ')}`)
      return [name, Number(value)]
    }),
  )
}

function say(text: string, code = 0): number {
  process.stdout.write(text)
  return code
}
