import { collect, wholeNumber } from '../../argument.js'
import type { CommandSpec } from '../../command.js'
import { addJobOptions } from '../enqueue/command.js'

export const http: CommandSpec = {
  name: 'http',
  summary: 'enqueue a job that calls a URL and print its id',
  usage: '[options] [METHOD] <URL>',
  arguments: [
    ['<method>', 'GET, POST, … (default: POST with --data, else GET)'],
    ['[url]', 'URL to call'],
  ],
  options: command =>
    addJobOptions(
      command
        .option('--header <line>', "'Name: value'; repeatable", collect)
        .option('--data <text>', 'body of the request: text, @FILE, or - for stdin')
        .option('--expect <statuses>', 'status codes that are a success: 200,404,3xx (default: 2xx)')
        .option('--follow-redirects <number>', 'follow up to 3 redirects (default: 0)', wholeNumber)
        .option('--retry-client-errors', 'retry 4xx responses too')
        .option('--no-capture-body', 'do not store the body of the response')
        .option('--cron <expression>', 'create a schedule: five fields, or six with seconds first')
        .option('--tz <zone>', 'time zone of the cron expression: Europe/Paris (default: UTC)')
        .option('--schedule <id>', 'id of the schedule (default: the host of the URL)'),
    ),
  examples: `
chronos http https://api.example/health
chronos http POST https://api.example/orders --data '{"id": 17}' --key o:17
chronos http PUT https://api.example/page --data @page.html \\
  --header 'Content-Type: text/html' --header 'Authorization: Bearer …'
chronos http https://api.example/report --expect 200,404 --wait=2m --json
chronos http POST https://api.example/ping --cron '*/5 * * * *'`,
  notes: `
A running worker of the job's queue makes the call, if its egress rules allow
the address. By default it is retried after 1, 2 and 4 s; most 4xx responses
are not retried.
With --wait, exit code 7 means that the job died or was cancelled, and 1 that
the time is over; then the job goes on.`,
  run: async () => (await import('./run.js')).enqueueCall,
}
