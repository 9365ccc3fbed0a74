// Opens a store, which migrates it, and kills itself with kill -9 before its nth statement.
import * as packaged from '@photostructure/sqlite'
import pg from 'pg'
import { createChronos } from '../../../dist/index.js'

const [store = '', fatal = ''] = process.argv.slice(2)
if (!store || !fatal) throw new Error('usage: migrate.js STORE STATEMENT')

let statements = 0

function count() {
  statements++
  if (statements === Number(fatal)) process.kill(process.pid, 'SIGKILL')
}

/**
 * The object with some methods that are counted. Methods of a native class can't be replaced.
 *
 * @template {object} T
 * @param {T} target
 * @param {readonly string[]} names
 * @returns {T}
 */
function counted(target, names) {
  return new Proxy(target, {
    get(_, name) {
      const real = Reflect.get(target, name)
      if (typeof real !== 'function') return real
      return (/** @type {unknown[]} */ ...args) => {
        if (names.includes(String(name))) count()
        const result = real.apply(target, args)
        return name === 'prepare' ? counted(result, ['run', 'get', 'all']) : result
      }
    },
  })
}

const { query } = pg.Client.prototype
const countedQuery = /** @this {unknown} @param {unknown[]} args */ function (...args) {
  count()
  return Reflect.apply(query, this, args)
}
Reflect.set(pg.Client.prototype, 'query', countedQuery)

// The store prefers the SQLite of Node, and asks for it by this function.
const sqlite = /** @type {typeof packaged} */ (process.getBuiltinModule?.('node:sqlite') ?? packaged)
const DatabaseSync = new Proxy(sqlite.DatabaseSync, {
  construct: (real, args) => counted(Reflect.construct(real, args), ['exec']),
})
Reflect.set(process, 'getBuiltinModule', () => ({ ...sqlite, DatabaseSync }))

const chronos = createChronos({ store, log: false })
await chronos.info()
await chronos.close()
process.exit(0)
