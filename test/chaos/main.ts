import { main } from './command.js'

/** Runs at the import, because dynamic imports work only until the import has ended. */
export const exitCode = await main(process.argv.slice(2))
