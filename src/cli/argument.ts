import { type Command, InvalidArgumentError } from 'commander'
import type { Rate } from '../core/values/rate.js'

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number.')
}

/** Collects the values of a repeatable option. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** A time; text that is not one is left for the library to reject. */
export function time(text: string): Date | string {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? text : at
}

/** `20/s`, `600/m`, or a number per second. The engine checks the value. */
export function rate(text: string): Rate {
  return /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : (text as Rate)
}

/** `0.2`, or `20%`. */
export function share(text: string): number {
  const match = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text)
  if (match) return match[2] === '%' ? Number(match[1]) / 100 : Number(match[1])
  throw new InvalidArgumentError('Expected a share from 0 to 1, such as 0.2 or 20%.')
}

export function addPageOptions(command: Command): Command {
  return command
    .option('--limit <number>', 'number of items, up to 200 (default: 50)', wholeNumber)
    .option('--cursor <text>', 'continue after the previous page')
}
