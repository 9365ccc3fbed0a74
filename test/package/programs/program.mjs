// Loads every entry point with `import` and with `require`, and prints what differs.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { name, exports } = require('chronos-jobs/package.json')
const entryPoints = Object.keys(exports).filter(entryPoint => entryPoint !== './package.json')
const valuesOf = entryPoint => Object.keys(entryPoint).filter(value => !['default', 'module.exports'].includes(value))

const found = {}
for (const entryPoint of entryPoints) {
  const [imported, required] = [await import(name + entryPoint.slice(1)), require(name + entryPoint.slice(1))]
  found[entryPoint] = {
    imported: valuesOf(imported).length,
    missing: valuesOf(imported).filter(value => !(value in required)),
    twice: valuesOf(imported).filter(value => value in required && required[value] !== imported[value]),
  }
}
process.stdout.write(JSON.stringify(found))
