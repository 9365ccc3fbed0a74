import { spawn } from 'node:child_process'
import { once } from 'node:events'

// npm run check: everything except the tests, as two chains side by side. The types of the examples and of some tests
// are those of the built package.

const CHAINS = [
  ['npm run --silent build:library', 'tsc --noEmit'],
  ['biome check .', 'npm run --silent build:dashboard', 'tsc -p src/dashboard', 'tsc -p test/browser'],
]

const codes = await Promise.all(
  CHAINS.map(async chain => {
    const [code] = await once(spawn(chain.join(' && '), { shell: true, stdio: 'inherit' }), 'exit')
    return code
  }),
)
process.exitCode = codes.every(code => code === 0) ? 0 : 1
