// Opens a store, which migrates it, and kills itself with kill -9 before its nth statement.
import * as sqlite from '@photostructure/sqlite'
import pg from 'pg'
import { createChronos } from '../../../dist/index.js'

const [store = '', fatal = ''] = process.argv.slice(2)
if (!store || !fatal) throw new Error('usage: migrate.js STORE STATEMENT')

let statements = 0

/**
 * @param {object} target
 * @param {string} name
 */
function count(target, name) {
  const real = /** @type {Record<string, Function>} */ (target)[name]
  Reflect.set(
    target,
    name,
    /** @this {unknown} @param {unknown[]} args */ function (...args) {
      statements++
      if (statements === Number(fatal)) process.kill(process.pid, 'SIGKILL')
      return real?.apply(this, args)
    },
  )
}

count(pg.Client.prototype, 'query')
const builtIn = /** @type {typeof sqlite | undefined} */ (process.getBuiltinModule?.('node:sqlite'))
for (const { DatabaseSync } of builtIn ? [sqlite, builtIn] : [sqlite]) {
  count(DatabaseSync.prototype, 'exec')
  const statement = Object.getPrototypeOf(new DatabaseSync(':memory:').prepare('SELECT 1'))
  for (const name of ['run', 'get', 'all']) count(statement, name)
}
const chronos = createChronos({ store, log: false })
await chronos.info()
await chronos.close()
process.exit(0)
