import { parseArgs } from 'node:util'

/**
 * The options of a development command. `--help` prints its usage; a misspelt option is an error with the usage, and
 * nothing runs.
 *
 * @template {import('node:util').ParseArgsConfig} T
 * @param {string} usage
 * @param {T} config
 * @param {readonly string[]} [args]
 */
export function argumentsOf(usage, config, args = process.argv.slice(2)) {
  if (args.includes('--help')) {
    process.stdout.write(usage)
    process.exit(0)
  }
  try {
    return parseArgs({ ...config, args })
  } catch (error) {
    return refuse(/** @type {Error} */ (error).message, usage)
  }
}

/**
 * @param {string} option
 * @param {string} text
 * @param {number} [least]
 */
export function wholeNumber(option, text, least = 1) {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text)
  return refuse(`${option} ${text}: expected a whole number of at least ${least}`)
}

/**
 * @param {string} why
 * @param {string} [usage]
 * @returns {never}
 */
export function refuse(why, usage = 'See --help.\n') {
  process.stderr.write(`${why}\n\n${usage}`)
  process.exit(2)
}
