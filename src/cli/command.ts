import type { Argument, Command } from 'commander'
import type { Words } from './act.js'
import type { Backend } from './backend/backend.js'
import { addBackendOptions, addStoreOptions, type BackendOptions } from './backend/store-address.js'
import type { Io } from './io.js'
import type { Listing } from './list.js'

/** One command: its help, and the code that runs it. */
export interface CommandSpec {
  readonly name: string
  /** Imperative, lower case, no full stop. The list of commands and the command's own help both show it. */
  readonly summary: string
  /** Sentences that follow the summary in the command's own help. */
  readonly details?: string
  readonly usage?: string
  /** As commander takes them: `<id>` and what it is, or an Argument with choices. */
  readonly arguments?: readonly (Argument | readonly [syntax: string, description: string])[]
  /** Adds the options of this command, and sets up whatever else commander knows. */
  readonly options?: (command: Command) => Command
  /** The common options: a store or a server (the default), a store only, or none. */
  readonly common?: 'backend' | 'store' | 'none'
  /** One command per line, without the prompt. An indented line continues the one before. */
  readonly examples: string
  /** Text below the examples, at most 80 columns wide. */
  readonly notes?: string
  /** Loads the code when the command is run, so that other commands start faster. Absent for a group of commands. */
  readonly run?: () => Promise<Run>
  readonly commands?: readonly CommandSpec[]
  /** It is run if its group is called without a command. */
  readonly isDefault?: boolean
}

/** Gets the arguments, the options, the Io and the commander command; a number it returns is the exit code. */
export type Run = (...given: never[]) => unknown

/** A command that calls one method with its arguments and options, and prints a line about the result. */
export function acting<T, Given extends readonly unknown[]>(
  call: (backend: Backend, ...given: Given) => Promise<T>,
  words: Words<T>,
): () => Promise<Run> {
  return async () => {
    const { act } = await import('./act.js')
    return (...all: readonly unknown[]) => {
      const [options, io] = all.slice(-3) as [BackendOptions, Io]
      return act(options, io, backend => call(backend, ...(all.slice(0, -2) as unknown as Given)), words)
    }
  }
}

/** A command that shows a list; its description is loaded when it is run. */
export function listing<T, Given extends readonly unknown[]>(
  load: () => Promise<Listing<T, Given>>,
): () => Promise<Run> {
  return async () => {
    const [{ list }, what] = await Promise.all([import('./list.js'), load()])
    return (...all: readonly unknown[]) => {
      const [options, io] = all.slice(-3) as [BackendOptions, Io]
      return list(what, all.slice(0, -2) as unknown as Given, options, io)
    }
  }
}

const COMMON = {
  backend: addBackendOptions,
  store: (command: Command) => addStoreOptions(command),
  none: (command: Command) => command,
}

export function addCommand(parent: Command, spec: CommandSpec, io: Io, exit: (code: number) => void): void {
  const { name, summary, details, usage, run, commands = [] } = spec
  const command = parent
    .command(name, { isDefault: spec.isDefault ?? false })
    .summary(summary)
    .description(descriptionOf(summary, details))
    .addHelpText('after', helpOf(spec))
  if (usage !== undefined) command.usage(usage)
  for (const argument of spec.arguments ?? []) {
    if ('description' in argument) command.addArgument(argument)
    else command.argument(...argument)
  }
  spec.options?.(command)
  if (run) {
    COMMON[spec.common ?? 'backend'](command).action(async (...given: unknown[]) => {
      const start = (await run()) as (...all: readonly unknown[]) => unknown
      const code = await start(...given.slice(0, -1), io, given.at(-1))
      if (typeof code === 'number') exit(code)
    })
  }
  if (commands.length > 0) command.helpCommand('help [command]', 'show the help of a command')
  for (const below of commands) addCommand(command, below, io, exit)
}

function descriptionOf(summary: string, details: string | undefined): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.${details === undefined ? '' : ` ${details}`}`
}

function helpOf({ examples, notes }: CommandSpec): string {
  const lines = examples.trim().split('\n')
  const shown = lines.map(line => (line.startsWith(' ') ? `    ${line}` : `  $ ${line}`)).join('\n')
  return `Examples:\n${shown}${notes === undefined ? '' : `\n\n${notes.trim()}`}`
}
