// Opens a store, which migrates it, and kills itself with kill -9 before its nth statement.
import pg from 'pg'
import { createChronos } from '../../../dist/index.js'
import { Connection } from '../../../dist/store/sqlite/file/connection.js'

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
for (const name of ['exec', 'run', 'get']) count(Connection.prototype, name)
const chronos = createChronos({ store, log: false })
await chronos.info()
await chronos.close()
process.exit(0)
