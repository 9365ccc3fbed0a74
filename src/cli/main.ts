#!/usr/bin/env node
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Command, CommanderError } from 'commander'
import { ChronosError } from '../core/values/error.js'
import { present } from '../core/values/present.js'
import { VERSION } from '../server/version.js'
import { addCommand, type CommandSpec } from './command.js'
import { alerts } from './commands/alerts/command.js'
import { backup } from './commands/backup/command.js'
import { circuits } from './commands/circuits/command.js'
import { completion } from './commands/completion/command.js'
import { config } from './commands/config/command.js'
import { dead } from './commands/dead/command.js'
import { demo } from './commands/demo/command.js'
import { dev } from './commands/dev/command.js'
import { doctor } from './commands/doctor/command.js'
import { enqueue } from './commands/enqueue/command.js'
import { forecast } from './commands/forecast/command.js'
import { http } from './commands/http/command.js'
import { incident } from './commands/incident/command.js'
import { jobs } from './commands/jobs/command.js'
import { mcp } from './commands/mcp/command.js'
import { migrate } from './commands/migrate/command.js'
import { names } from './commands/names/command.js'
import { policy } from './commands/policy/command.js'
import { prune } from './commands/prune/command.js'
import { queues } from './commands/queues/command.js'
import { redrives } from './commands/redrives/command.js'
import { schedules } from './commands/schedules/command.js'
import { serve } from './commands/serve/command.js'
import { stats } from './commands/stats/command.js'
import { tokens } from './commands/tokens/command.js'
import { top } from './commands/top/command.js'
import { verify } from './commands/verify/command.js'
import { webhooks } from './commands/webhooks/command.js'
import { worker } from './commands/worker/command.js'
import { workers } from './commands/workers/command.js'
import { EXIT, EXIT_OF } from './exit.js'
import { type Environment, Interruption, type Io } from './io.js'
import { paint, styleOf } from './output/print.js'
import { processTerminal } from './output/terminal.js'
import { oneLine } from './output/width.js'
import { Program } from './program.js'

/** In the order of the help. */
const COMMANDS: readonly CommandSpec[] = [
  dev,
  serve,
  worker,
  demo,
  enqueue,
  http,
  jobs,
  dead,
  redrives,
  circuits,
  alerts,
  queues,
  names,
  schedules,
  webhooks,
  workers,
  stats,
  incident,
  forecast,
  top,
  mcp,
  migrate,
  doctor,
  verify,
  backup,
  prune,
  tokens,
  config,
  completion,
  policy,
]

/** Runs one command line and returns its exit code. Uses nothing but `io`. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let exitCode: number = EXIT.ok
  const program = commandsOf(io, code => {
    exitCode = code
  })
  try {
    await program.parseAsync(withoutHelp(program, argv), { from: 'user' })
    return exitCode
  } catch (error) {
    return explain(error, io)
  }
}

/** All commands with their flags and help. */
export function commandsOf(io: Io, exit: (code: number) => void): Command {
  const program = createProgram(io)
  for (const command of COMMANDS) addCommand(program, command, io, exit)
  return program
}

/** `help nosuch` becomes `nosuch`, whose error suggests the command that was meant. */
function withoutHelp(program: Command, argv: readonly string[]): readonly string[] {
  let group = program
  let depth = 0
  const below = (name: string | undefined): Command | undefined => group.commands.find(each => each.name() === name)
  for (let next = below(argv[0]); next && next.commands.length > 0; next = below(argv[depth])) {
    group = next
    depth++
  }
  const [word, name] = argv.slice(depth)
  const isUnknown = word === 'help' && name !== undefined && !name.startsWith('-') && name !== 'help' && !below(name)
  return isUnknown ? argv.toSpliced(depth, 1) : argv
}

const EXAMPLES = `
Examples:
  $ chronos dev --demo --open          demo data for every screen
  $ chronos serve --with-worker --jobs ./jobs.js
  $ chronos top                        queues, failures and workers, live
  $ chronos dead groups                why jobs died
  $ chronos jobs timeline ID           runs and waits of one job
  $ chronos doctor                     the health of a store

Commands use the store sqlite:./chronos.db, or the one that CHRONOS_STORE or
--store names. With --url or CHRONOS_URL they use a server instead.

Data goes to stdout, messages to stderr; NO_COLOR=1 turns colours off.
Exit codes: 0 ok, 1 unexpected, 2 usage, 3 not found, 4 not allowed, 5 conflict,
6 unreachable, 7 the awaited job died, 8 a check failed.`

function createProgram(io: Io): Command {
  const [out, err] = [styleOf(io.stdout, io.env), styleOf(io.stderr, io.env)]
  return new Program('chronos')
    .description('Run durable background jobs, and manage their failures.')
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

/** Prints one line; with CHRONOS_DEBUG also the stack. */
function explain(error: unknown, { stderr, env }: Io): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof Interruption) {
    if (error.message !== '') stderr.write(`${error.message}\n`)
    return error.exitCode
  }
  const known = error instanceof ChronosError ? error : undefined
  // The message may quote untrusted text.
  const message = oneLine(error instanceof Error ? error.message : String(error))
  stderr.write(`error: ${message}${known ? ` (${known.code})` : ''}\n`)
  const debug = isSet(env, 'CHRONOS_DEBUG')
  if (debug && error instanceof Error) stderr.write(`${error.stack}\n`)
  if (!debug && !known) stderr.write('This is an unexpected error; CHRONOS_DEBUG=1 shows its stack trace.\n')
  return known ? EXIT_OF[known.code] : EXIT.unexpected
}

const isSet = (env: Environment, name: string): boolean => !['', '0', 'false'].includes(env[name] ?? '')

// Only the code below uses the process.

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
const BROKEN_PIPE_EXIT = 141

async function runProcess(): Promise<void> {
  const { stdout, stderr, env } = process
  const controller = new AbortController()
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      // A second signal ends the process at once.
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
    ...present({ terminal }),
    interrupted: controller.signal,
  }
  process.exitCode = await main(process.argv.slice(2), io)
}

/** Whether this file was started: by its path, without its extension, or by the link that npm creates. */
function isStarted(script: string | undefined): boolean {
  try {
    return createRequire(import.meta.url).resolve(script ?? '') === fileURLToPath(import.meta.url)
  } catch {
    return false
  }
}

if (isStarted(process.argv[1])) await runProcess()
