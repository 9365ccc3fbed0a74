import type { Hints } from '../../client/problem.js'

/** What to do about an error of a server, on the command line. */
export const HINTS: Hints = {
  token: 'give a token with --token or CHRONOS_TOKEN',
  url: 'give --url without /api',
  server: '`chronos serve` starts one',
}
