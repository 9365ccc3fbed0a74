import { join } from 'node:path'
import { argumentsOf, wholeNumber } from '../../build/arguments.js'
import { compile, liveMany, ROOT } from './children.js'

const USAGE = `npm run simulate -- --seed N [--all]       replays one life; --all shows every line of it
npm run simulate -- --seeds N [--from N]   lives many, on all cores (500, from seed 1)
`

const { values } = argumentsOf(USAGE, {
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
  },
})

const seed = values.seed === undefined ? undefined : wholeNumber('--seed', values.seed)
const [from, seeds] = [wholeNumber('--from', values.from), wholeNumber('--seeds', values.seeds)]

const compiled = join(ROOT, '.cache', 'simulation')
await compile(compiled)
const startedAt = performance.now()
const { lived, events, broken, coverage } = await (seed === undefined
  ? liveMany(compiled, from, seeds)
  : liveMany(compiled, seed, 1, ...(values.all ? ['--all'] : [])))
const seconds = (performance.now() - startedAt) / 1000

for (const { story } of broken) if (story !== undefined) console.error(`${story}\n`)
for (const what of Object.keys(coverage).sort()) console.log(`${String(coverage[what]).padStart(9)}  ${what}`)
console.log(`${lived} lives, ${events} events, ${seconds.toFixed(1)} s, ${(lived / seconds).toFixed(1)} lives a second`)
console.log(broken.length === 0 ? 'Every promise was kept.' : `Broken: ${broken.map(({ seed }) => seed).join(', ')}`)
process.exitCode = broken.length === 0 ? 0 : 1
