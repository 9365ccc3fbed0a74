// npm run chaos -- --help
import { fileURLToPath } from 'node:url'
import { runnerImport } from 'vite'

const path = fileURLToPath(new URL('main.ts', import.meta.url))
const { module } = await runnerImport(path, { logLevel: 'error', oxc: { target: 'node20' } })
process.exitCode = /** @type {{ exitCode: number }} */ (module).exitCode
