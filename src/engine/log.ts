import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

/** The part of a pino logger that Chronos uses. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>

const STDERR = 2

/** JSON lines on stderr, readable ones on a terminal; standard output belongs to the program. */
export function defaultLog(environment: NodeJS.ProcessEnv = process.env): Log {
  const format = environment['CHRONOS_LOG_FORMAT'] ?? (process.stderr.isTTY ? 'pretty' : 'json')
  const stream =
    format === 'pretty'
      ? pretty({ sync: true, destination: STDERR, ignore: 'pid,hostname' })
      : pino.destination({ dest: STDERR, sync: false })
  return pino({ level: environment['CHRONOS_LOG_LEVEL'] ?? 'info', base: null }, stream)
}

const ignore = (): void => {}
export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, isLevelEnabled: () => false }
