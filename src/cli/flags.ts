import type { Command } from 'commander'
import type { Fields, Schema } from '../core/values/schema.js'
import { collect, time } from './argument.js'

/** Adds a flag for each field that has one. Its schema has the words and reads the text; the engine checks the value. */
export function addFlags(command: Command, fields: Fields): Command {
  for (const field of Object.values(fields)) {
    const { flag } = field.about
    if (flag !== undefined) command.option(flag, helpOf(field), readerOf(field))
  }
  return command
}

function readerOf({ kinds, json, fromText }: Schema): (text: string, before: unknown) => unknown {
  if (kinds.includes('array')) return (text, before) => collect(text, before as readonly string[] | undefined)
  if (kinds.length === 1 && kinds[0] === 'object')
    return (text, before) => withAmount(text, before as object | undefined)
  return json?.({})['format'] === 'date-time' ? time : text => fromText?.(text) ?? text
}

/** `--unit tokens=1200`, repeated for several units. */
function withAmount(text: string, before: object = {}): object {
  const [unit = '', amount = ''] = text.split('=', 2)
  return { ...before, [unit]: /^\d+(\.\d+)?$/.test(amount) ? Number(amount) : amount }
}

/** The description of a field in the style of a help page: `the queue of the job (default: default)`. */
export function helpOf({ about: { description = '' }, kinds, json }: Schema): string {
  const text = description.replaceAll('`', '').replace(/\.$/, '')
  const words = text
    .replace(/\.? Default:? (.*)$/, ' (default: $1)')
    .replace(/^[A-Z](?![A-Z])/, first => first.toLowerCase())
  const choices = json?.({})['enum']
  if (Array.isArray(choices)) return `${choices.join(', ')}: ${words}`
  return kinds.includes('array') || kinds[0] === 'object' ? `${words}; repeatable` : words
}

/** The values of the flags, under the names of their fields. */
export function flagValues<T extends object>(fields: Fields, flags: object): Partial<T> {
  const given = new Map(Object.entries(flags))
  const values = Object.entries(fields).map(([name, field]) => [name, given.get(keyOf(field))] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Partial<T>
}

/** `--depends-on <dependency>` is `dependsOn` in what commander parsed. */
function keyOf({ about: { flag = '' } }: Schema): string {
  return flag.replace(/^--| .*$/g, '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
