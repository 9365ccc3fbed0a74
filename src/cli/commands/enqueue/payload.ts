import { readFile } from 'node:fs/promises'
import { PAYLOAD_MAX_BYTES } from '../../../core/job/payload.js'
import type { PolicyInput } from '../../../core/policy/policy.js'
import { isPresetName, PRESETS } from '../../../core/policy/presets.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { inexactInteger } from '../../../core/values/json.js'
import { refuse } from '../../../core/values/schema.js'
import { timeOf } from '../../../engine/client/enqueuer.js'
import { time } from '../../argument.js'
import type { Io } from '../../io.js'

/** JSON on the command line, in a file (`@FILE`), or from stdin (`-`). */
export async function readPayload(source: string | undefined, io: Io): Promise<unknown> {
  if (source === undefined) return null
  const { text, from } = await readText(source, io, '--payload')
  const payload = parse(text, from)
  const inexact = inexactInteger(text)
  if (inexact) throw refuse(inexact.path, inexact.says, from, 'INVALID_PAYLOAD')
  return payload
}

/** Text on the command line, in a file (`@FILE`), or from stdin (`-`). */
export async function readText(
  source: string,
  io: Io,
  option: string,
): Promise<{ readonly text: string; readonly from: string }> {
  if (source === '-') return { text: await readStdin(io, option), from: 'stdin' }
  if (!source.startsWith('@')) return { text: source, from: option }
  const path = source.slice(1)
  return { text: await textOf(path, option), from: path }
}

async function textOf(path: string, option: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new ChronosError('INVALID_OPTION', `${option}: cannot read ${path} (${(error as Error).message})`, {
      cause: error,
    })
  }
}

async function readStdin({ stdin }: Io, option: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of stdin?.() ?? []) {
    text += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
    // Whitespace in JSON is not counted in the limit, so some more is read before giving up.
    if (text.length > 4 * PAYLOAD_MAX_BYTES)
      throw new ChronosError('PAYLOAD_TOO_LARGE', `${option}: stdin has more than ${PAYLOAD_MAX_BYTES} bytes`)
  }
  return text + decoder.decode()
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ChronosError(
      'INVALID_PAYLOAD',
      `${what}: expected JSON such as '{"to": "ada@example.com"}', got ${shown(text)} (${(error as Error).message})`,
    )
  }
}

/** The name of a preset, or a policy as JSON. The engine checks its fields. */
export function readPolicy(text: string, what: string): PolicyInput {
  if (isPresetName(text)) return text
  try {
    return JSON.parse(text) as PolicyInput
  } catch {
    const known = Object.keys(PRESETS).join(', ')
    throw new ChronosError(
      'INVALID_POLICY',
      `${what}: expected a preset (${known}) or JSON such as '{"maxRetries": 5}', got ${shown(text)}`,
    )
  }
}

/** A time, or a duration from now. */
export function readDeadline(text: string): Date | Duration {
  return parseDuration(text) === undefined ? new Date(timeOf(time(text), '--deadline')) : (text as Duration)
}
