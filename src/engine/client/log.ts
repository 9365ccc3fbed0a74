import { type DestinationStream, type Logger, pino } from 'pino'
import { ChronosError, shown } from '../../core/values/error.js'
import { readable } from './readable.js'
import { redacted, redactedForTerminal } from './redaction.js'

/** The part of a pino logger that Chronos uses. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'>

const STDERR = 2
const LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const FORMATS: readonly string[] = ['json', 'pretty']

/** A logger as an application passes it: pino's, winston's, `console`, or any other that is called as pino is. */
export type GivenLog = (Pick<Log, Level> & Partial<Log>) | MessageFirst

/** A logger that takes the message before the fields. */
type MessageFirst = Readonly<Record<Level, (message: string, ...more: never[]) => unknown>>

const METHODS = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof METHODS)[number]

/** The logger of a Chronos. One without `isLevelEnabled` gets every line. */
export function logOf(given: GivenLog | false | undefined): Log {
  if (given === undefined) return defaultLog()
  if (given === false) return silentLog
  const missing = METHODS.find(method => typeof (given as Partial<Log> | null)?.[method] !== 'function')
  if (missing !== undefined) {
    const problem = `expected a logger with debug, info, warn and error, or false; ${missing} is missing`
    throw new ChronosError('INVALID_OPTION', `log: ${problem}`)
  }
  const { isLevelEnabled } = given as Partial<Log>
  if (isLevelEnabled && !takesMessageFirst(given)) return given as Log
  const [debug, info, warn, error] = METHODS.map(method => writerOf(given, method))
  return {
    debug: debug!,
    info: info!,
    warn: warn!,
    error: error!,
    isLevelEnabled: level => isLevelEnabled?.call(given as Log, level) ?? true,
  }
}

function writerOf(given: GivenLog, method: Level): Log[Level] {
  const write = given[method].bind(given) as (...line: unknown[]) => void
  if (!takesMessageFirst(given)) return write
  return (fields: unknown, message?: unknown) =>
    typeof fields === 'string' ? write(fields) : write(message, redacted(fields as Record<string, unknown>))
}

/** winston and `console`. Others are called as pino is. */
function takesMessageFirst(given: object): boolean {
  const isConsole = 'table' in given && 'group' in given
  const isWinston = 'transports' in given && 'configure' in given
  return isConsole || isWinston
}

/** JSON lines on stderr, readable ones on a terminal; standard output belongs to the application. */
export function defaultLog(environment: NodeJS.ProcessEnv = process.env, destination?: DestinationStream): Log {
  const level = setting(environment, 'CHRONOS_LOG_LEVEL', LEVELS) ?? 'info'
  const format = setting(environment, 'CHRONOS_LOG_FORMAT', FORMATS) ?? (process.stderr.isTTY ? 'pretty' : 'json')
  if (format === 'json') return jsonLog(level, destination ?? standardError())
  const isColored = destination === undefined && process.stderr.isTTY && !environment['NO_COLOR']
  const stream = destination ?? pino.destination({ dest: STDERR, sync: true })
  return pinoLog(level, redactedForTerminal, readable(stream, isColored))
}

interface Unwritten {
  readonly stream: ReturnType<typeof pino.destination>
  bytes: number
}

const streams = new Set<Unwritten>()

/**
 * Writes bytes: with text, the stream would measure all lines that wait to be written again for each new line. It writes
 * in the background, so that a slow reader does not block the event loop.
 */
export function backgroundStream(dest: string | number): DestinationStream {
  const stream = pino.destination({ dest, sync: false, contentMode: 'buffer' })
  const own: Unwritten = { stream, bytes: 0 }
  stream.on('write', bytes => {
    own.bytes -= bytes
  })
  streams.add(own)
  return {
    write(line) {
      const bytes = Buffer.from(line)
      own.bytes += bytes.length
      stream.write(bytes as unknown as string)
    },
  }
}

let shared: DestinationStream | undefined

/** One for the process, so that the lines of several Chronos are in their order too. */
function standardError(): DestinationStream {
  shared ??= backgroundStream(STDERR)
  return shared
}

/**
 * Resolves when the lines of this process have been written. `process.exit` would write the newest ones before those
 * that are being written at that moment.
 */
export async function linesWritten(): Promise<void> {
  const busy = [...streams].filter(({ bytes }) => bytes > 0)
  await Promise.all(busy.map(({ stream }) => new Promise(resolve => stream.once('drain', resolve))))
}

function pinoLog(level: string, log: (fields: object) => Record<string, unknown>, stream: DestinationStream): Logger {
  // Errors have been serialized before this.
  return pino({ level, base: null, formatters: { log }, serializers: { err: (error: unknown) => error } }, stream)
}

/**
 * Writes the lines of pino with one `JSON.stringify` each, which takes a third of the time: every failed run is a line.
 * A line that it can't write is left to pino.
 */
function jsonLog(level: string, stream: DestinationStream): Log {
  const log = pinoLog(level, redacted, stream)
  const writer = (method: Level): Log[Level] => {
    if (!log.isLevelEnabled(method)) return ignore
    const start = `{"level":${log.levels.values[method]}`
    return (fields: unknown, message?: unknown) => {
      const line = typeof fields === 'object' && fields !== null ? jsonOf(fields) : undefined
      if (line === undefined || typeof message !== 'string') log[method](fields, message as string)
      else stream.write(`${start}${pino.stdTimeFunctions.epochTime()}${line},"msg":${JSON.stringify(message)}}\n`)
    }
  }
  const [debug, info, warn, error] = METHODS.map(writer)
  return { debug: debug!, info: info!, warn: warn!, error: error!, isLevelEnabled: each => log.isLevelEnabled(each) }
}

/** The fields as the middle of a JSON object; undefined for those that `JSON.stringify` rejects. */
function jsonOf(fields: object): string | undefined {
  if (fields instanceof Error) return undefined
  try {
    const json = JSON.stringify(redacted(fields))
    return json === '{}' ? '' : `,${json.slice(1, -1)}`
  } catch {
    return undefined // a BigInt, or a toJSON that throws
  }
}

function setting(environment: NodeJS.ProcessEnv, name: string, known: readonly string[]): string | undefined {
  const value = environment[name]
  if (value === undefined || value === '') return undefined
  if (known.includes(value)) return value
  throw new ChronosError('INVALID_OPTION', `${name}: expected ${known.join(', ')}, got ${shown(value)}`)
}

const ignore = (): void => {}
export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, isLevelEnabled: () => false }
