import type { DestinationStream } from 'pino'
import { formatMs } from '../../core/values/duration.js'
import { isPlainObject } from '../../core/values/json.js'

type Line = Readonly<Record<string, unknown>>

const LEVELS: Readonly<Record<number, { readonly word: string; readonly color: number }>> = {
  10: { word: 'TRACE', color: 90 },
  20: { word: 'DEBUG', color: 34 },
  30: { word: 'INFO', color: 32 },
  40: { word: 'WARN', color: 33 },
  50: { word: 'ERROR', color: 31 },
  60: { word: 'FATAL', color: 31 },
}
const CYAN = 36
const INDENT = '    '

/** Turns the JSON lines of a logger into text for a terminal: a line that an operator reads first, then the fields. */
export function readable(destination: DestinationStream, isColored: boolean): DestinationStream {
  const paint = (color: number, text: string): string => (isColored ? `\u001b[${color}m${text}\u001b[39m` : text)
  return {
    write(json) {
      const { level, time, msg, name, ...fields } = JSON.parse(json) as Line
      const { word, color } = LEVELS[Number(level)] ?? { word: String(level), color: CYAN }
      const at = new Date(Number(time)).toISOString().slice(11, 23)
      const who = name === undefined ? '' : ` (${name})`
      const message = msg === undefined ? '' : ` ${paint(CYAN, messageOf(String(msg), fields))}`
      destination.write(`[${at}] ${paint(color, word)}${who}:${message}\n${textOf({ ...fields }, INDENT)}`)
    },
  }
}

/** Adds to the constant phrase what an operator reads first: `job failed, scheduling retry 1/3 in 1s at …`. */
function messageOf(message: string, { event, retry, maxRetries, delayMs, nextRunAt, nextOccurrenceAt }: Line): string {
  if (event === 'job.retrying')
    return `${message} ${retry}/${maxRetries} in ${formatMs(Number(delayMs))} at ${nextRunAt}`
  return nextOccurrenceAt === undefined ? message : `${message}, next occurrence at ${nextOccurrenceAt}`
}

function textOf(fields: Line, indent: string): string {
  return Object.entries(fields)
    .map(([name, value]) => `${indent}${name}:${shownValue(value, indent + INDENT)}`)
    .join('')
}

/** A stack keeps its lines, each of them indented: a line of the log begins at the margin. */
function shownValue(value: unknown, indent: string): string {
  if (typeof value === 'string' && value.includes('\n')) return `\n${indent}${value.replaceAll('\n', `\n${indent}`)}\n`
  if (isPlainObject(value) && Object.keys(value).length > 0) return `\n${textOf(value, indent)}`
  return ` ${JSON.stringify(value)}\n`
}
