import { readFile } from 'node:fs/promises'
import { PAYLOAD_MAX_BYTES } from '../../../core/job/payload.js'
import type { PolicyInput } from '../../../core/policy/policy.js'
import { isPresetName, PRESETS } from '../../../core/policy/presets.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import type { Io } from '../../io.js'

/** JSON as it stands, in a file (`@FILE`), or from stdin (`-`). */
export async function readPayload(source: string | undefined, io: Io): Promise<unknown> {
  if (source === undefined) return null
  const { text, from } = await readText(source, io, '--payload')
  return parse(text, from)
}

/** Text as it stands, in a file (`@FILE`), or from stdin (`-`). */
export async function readText(
  source: string,
  io: Io,
  option: string,
): Promise<{ readonly text: string; readonly from: string }> {
  if (source === '-') return { text: await readStdin(io, option), from: 'what was read from stdin' }
  if (!source.startsWith('@')) return { text: source, from: option }
  const path = source.slice(1)
  return { text: await textOf(path, option), from: path }
}

async function textOf(path: string, option: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new ChronosError('INVALID_OPTION', `${option}: ${path} can't be read (${(error as Error).message})`, {
      cause: error,
    })
  }
}

async function readStdin({ stdin }: Io, option: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of stdin?.() ?? []) {
    text += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
    // Much more can't become a payload, whatever follows; spaces between its parts are not counted there.
    if (text.length > 4 * PAYLOAD_MAX_BYTES)
      throw new ChronosError(
        'PAYLOAD_TOO_LARGE',
        `${option}: more than ${PAYLOAD_MAX_BYTES} bytes were read from stdin`,
      )
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

/** A preset's name, or a policy as JSON. What is in it is checked by who uses it. */
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
