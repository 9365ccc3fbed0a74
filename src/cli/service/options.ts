import type { Command } from 'commander'
import { collect } from '../argument.js'
import type { Flags } from '../config/load.js'

export interface ServiceFlags {
  readonly store?: string
  readonly config?: string
  readonly logLevel?: string
  readonly logFormat?: string
}

export interface WorkerFlags extends ServiceFlags {
  readonly jobs?: readonly string[]
  readonly queues?: string
  readonly concurrency?: string
}

export interface ServerFlags extends WorkerFlags {
  readonly host?: string
  readonly port?: string
  readonly token?: string
  readonly basePath?: string
  readonly readOnly?: true
}

export function addWorkerOptions(command: Command): Command {
  return command
    .option('--jobs <file>', 'a module with definitions of jobs; several times', collect)
    .option('--queues <names>', 'serve these: mail,payments (default: the queues of its jobs, and "default")')
    .option('--concurrency <number>', 'jobs at the same time (default: 10)')
}

/** What a process that stays has instead of the options of a command that answers and ends. */
export function addServiceOptions(command: Command): Command {
  return command
    .optionsGroup('Common options:')
    .option('--store <url>', 'sqlite:PATH or postgres://… (default: CHRONOS_STORE, or sqlite:./chronos.db)')
    .option('--config <file>', 'settings in a file (default: chronos.config.json or .mjs, if it is here)')
    .option('--log-level <level>', 'debug, info, warn, error or silent (default: info)')
    .option('--log-format <format>', 'json or pretty (default: pretty on a terminal)')
}

export function settingsIn(flags: ServerFlags): Flags {
  const { store, config, logLevel, logFormat, jobs, queues, concurrency } = flags
  const { host, port, token, basePath, readOnly } = flags
  return {
    store,
    config,
    logLevel,
    logFormat,
    jobs,
    queues,
    concurrency,
    host,
    port,
    token,
    basePath,
    readOnly,
  }
}
