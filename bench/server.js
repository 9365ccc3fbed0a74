/** The PostgreSQL of the benchmark, with its own defaults, for as long as the parent lives. */
const source = new URL('../test/support/postgres-server.ts', import.meta.url).href
const { PostgresServer } = /** @type {typeof import('../test/support/postgres-server.js')} */ (await import(source))
const server = await PostgresServer.start({})
process.once('disconnect', () => void server.stop().then(() => process.exit()))
process.send?.(server.url)
