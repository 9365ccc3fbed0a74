import type { Command } from 'commander'
import { collect, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { addJobOptions } from '../enqueue/command.js'

const EXAMPLES = `
Examples:
  $ chronos http https://api.example/health
  $ chronos http POST https://api.example/orders --data '{"id": 17}' --key o:17
  $ chronos http PUT https://api.example/page --data @page.html \\
      --header 'Content-Type: text/html' --header 'Authorization: Bearer …'
  $ chronos http https://api.example/report --expect 200,404 --wait 2m --json
  $ chronos http POST https://api.example/ping --cron '*/5 * * * *'

Any running worker makes the call, if its egress rules allow the address. It is
retried after 1, 2 and 4 s unless --retry says otherwise; most 4xx answers are
not. The id goes to stdout; with --wait, exit code 7 says that it died.`

/** A new job that is a call to a URL. */
export function addHttp(program: Command, io: Io, exit: (code: number) => void): void {
  const http = program
    .command('http')
    .summary('add a job that calls a URL')
    .usage('[options] [METHOD] <URL>')
    .description('Adds a job that is a call: every worker knows how to make it.')
    .argument('<method>', 'GET, POST, … (default: POST with --data, else GET)')
    .argument('[url]', 'where to')
    .option('--header <line>', "'Name: value'; may be given several times", collect)
    .option('--data <text>', 'the body as it stands, @FILE, or - for stdin')
    .option('--expect <statuses>', 'answers that are a success: 200,404,3xx (default: 2xx)')
    .option('--follow-redirects <number>', 'at most 3 (default: 0)', wholeNumber)
    .option('--retry-client-errors', 'retry 4xx answers too')
    .option('--no-capture-body', "keep nothing of the answer's body")
    .option('--cron <expression>', 'again and again: a schedule, five fields or six with seconds first')
    .option('--tz <zone>', 'time zone that cron is read in: Europe/Paris (default: UTC)')
    .option('--schedule <id>', 'what the schedule is called (default: the host of the URL)')
  addBackendOptions(addJobOptions(http))
    .addHelpText('after', EXAMPLES)
    .action(async (method, url, options) => {
      const { enqueueCall } = await import('./run.js')
      exit(await enqueueCall(url === undefined ? [undefined, method] : [method, url], options, io))
    })
}
