#!/usr/bin/env node
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Command, CommanderError } from 'commander'
import { ChronosError } from '../core/values/error.js'
import { VERSION } from '../server/version.js'
import { addAlerts } from './commands/alerts/command.js'
import { addBackup } from './commands/backup/command.js'
import { addCircuits } from './commands/circuits/command.js'
import { addCompletion } from './commands/completion/command.js'
import { addConfig } from './commands/config/command.js'
import { addDead } from './commands/dead/command.js'
import { addDemo } from './commands/demo/command.js'
import { addDev } from './commands/dev/command.js'
import { addDoctor } from './commands/doctor/command.js'
import { addEnqueue } from './commands/enqueue/command.js'
import { addHttp } from './commands/http/command.js'
import { addJobs } from './commands/jobs/command.js'
import { addMigrate } from './commands/migrate/command.js'
import { addPolicy } from './commands/policy/command.js'
import { addPrune } from './commands/prune/command.js'
import { addQueues } from './commands/queues/command.js'
import { addRedrives } from './commands/redrives/command.js'
import { addSchedules } from './commands/schedules/command.js'
import { addServe } from './commands/serve/command.js'
import { addStats } from './commands/stats/command.js'
import { addTokens } from './commands/tokens/command.js'
import { addTop } from './commands/top/command.js'
import { addVerify } from './commands/verify/command.js'
import { addWebhooks } from './commands/webhooks/command.js'
import { addWorker } from './commands/worker/command.js'
import { addWorkers } from './commands/workers/command.js'
import { EXIT, EXIT_OF } from './exit.js'
import { type Environment, Interruption, type Io } from './io.js'
import { paint, styleOf } from './output/print.js'
import { processTerminal } from './output/terminal.js'
import { oneLine } from './output/width.js'
import { Program } from './program.js'

/** Runs one command line and says what the shell is to be told. Touches nothing but `io`. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let exitCode: number = EXIT.ok
  const program = createProgram(io)
  const exit = (code: number): void => {
    exitCode = code
  }
  addDev(program, io)
  addServe(program, io)
  addWorker(program, io)
  addDemo(program, io, exit)
  addEnqueue(program, io, exit)
  addHttp(program, io, exit)
  addJobs(program, io, exit)
  addDead(program, io, exit)
  addRedrives(program, io, exit)
  addCircuits(program, io)
  addAlerts(program, io)
  addQueues(program, io)
  addSchedules(program, io)
  addWebhooks(program, io)
  addWorkers(program, io)
  addStats(program, io)
  addTop(program, io)
  addMigrate(program, io, exit)
  addDoctor(program, io, exit)
  addVerify(program, io, exit)
  addBackup(program, io)
  addPrune(program, io)
  addTokens(program, io)
  addConfig(program, io)
  addCompletion(program, io)
  addPolicy(program, io, exit)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    return explain(error, io)
  }
}

const EXAMPLES = `
Examples:
  $ chronos dev --demo --open          a shop at night, in your browser
  $ chronos serve --with-worker --jobs ./jobs.js
  $ chronos top                        what is going on, live
  $ chronos dead groups                what jobs died of
  $ chronos jobs timeline ID           the life of one job, drawn
  $ chronos doctor                     whether all is well

Commands look into sqlite:./chronos.db, or where CHRONOS_STORE or --store says;
with --url or CHRONOS_URL they talk to a server instead.

Data goes to stdout, words to stderr; NO_COLOR=1 turns colours off.
Exit codes: 0 ok, 1 unexpected, 2 usage, 3 not found, 4 not allowed, 5 conflict,
6 unreachable, 7 the awaited job died, 8 a check failed.`

function createProgram(io: Io): Command {
  const [out, err] = [styleOf(io.stdout, io.env), styleOf(io.stderr, io.env)]
  return new Program('chronos')
    .description('Durable jobs, and what happens when they fail.')
    .version(VERSION, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .configureOutput({
      writeOut: text => io.stdout.write(text),
      writeErr: text => io.stderr.write(text),
      getOutHelpWidth: () => Math.min(out.columns, 80),
      getErrHelpWidth: () => Math.min(err.columns, 80),
      getOutHasColors: () => out.colour,
      getErrHasColors: () => err.colour,
    })
    .configureHelp({ styleTitle: title => paint(title, 'strong', { ...out, colour: true }) })
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText('after', EXAMPLES)
}

/** One line that says what went wrong; the stack is for those who look for it. */
function explain(error: unknown, { stderr, env }: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof Interruption) {
    if (error.message !== '') stderr.write(`${error.message}\n`)
    return error.exitCode
  }
  const known = error instanceof ChronosError ? error : undefined
  // It may quote what somebody else has written.
  const message = oneLine(error instanceof Error ? error.message : String(error))
  stderr.write(`error: ${message}${known ? ` (${known.code})` : ''}\n`)
  const debug = isSet(env, 'CHRONOS_DEBUG')
  if (debug && error instanceof Error) stderr.write(`${error.stack}\n`)
  if (!debug && !known) stderr.write('This was not expected; CHRONOS_DEBUG=1 shows where it came from.\n')
  return known ? EXIT_OF[known.code] : EXIT.unexpected
}

const isSet = (env: Environment, name: string): boolean => !['', '0', 'false'].includes(env[name] ?? '')

// Below this line, and only there, is the process.

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
const BROKEN_PIPE_EXIT = 141

async function runProcess(): Promise<void> {
  const { stdout, stderr, env } = process
  const controller = new AbortController()
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      // Who asks twice is not waiting for anything any more.
      if (controller.signal.aborted) process.exit(exitCode)
      controller.abort(new Interruption('interrupted', exitCode))
    })
  }
  for (const output of [stdout, stderr]) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      controller.abort(new Interruption('', BROKEN_PIPE_EXIT))
    })
  }
  const terminal = process.stdin.isTTY && stdout.isTTY ? processTerminal() : undefined
  const io: Io = {
    stdout,
    stderr,
    stdin: () => process.stdin,
    env,
    ...(terminal && { terminal }),
    interrupted: controller.signal,
  }
  process.exitCode = await main(process.argv.slice(2), io)
}

/** Whether this file is what was started: by its path, without its ending, or by the link that npm makes. */
function isStarted(script: string | undefined): boolean {
  try {
    return createRequire(import.meta.url).resolve(script ?? '') === fileURLToPath(import.meta.url)
  } catch {
    return false
  }
}

if (isStarted(process.argv[1])) await runProcess()
