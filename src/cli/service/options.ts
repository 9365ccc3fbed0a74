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
    .option('--jobs <file>', 'module that exports job definitions; repeatable', collect)
    .option('--queues <names>', 'work on these queues: mail,payments (default: those of its jobs, and "default")')
    .option('--concurrency <number>', 'number of jobs at the same time (default: 10)')
}

/** The common options of long-running commands. */
export function addServiceOptions(command: Command): Command {
  return command
    .optionsGroup('Common options:')
    .option('--store <url>', 'sqlite:PATH or postgres://… (default: CHRONOS_STORE, or sqlite:./chronos.db)')
    .option('--config <file>', 'configuration file (default: chronos.config.json or .mjs in this folder)')
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
