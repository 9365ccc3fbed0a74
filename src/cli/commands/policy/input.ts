import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { FLAT_FIELDS, fieldsOf, flagName, fromFlat } from '../../../core/policy/flat.js'
import {
  type Backoff,
  mergePolicies,
  type PartialPolicy,
  type Policy,
  parsePolicy,
} from '../../../core/policy/policy.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { usage } from '../../exit.js'

/** The fields of a policy by name, already checked by their schemas. */
export type PolicyFlags = Readonly<Record<string, unknown>> & { readonly file?: string }

export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
}

const TEXT_MAX = 1_000_000

/** The policy of a command line: a preset, JSON or a file, with the flags applied to it. */
export async function readPolicy(given: string | undefined, flags: PolicyFlags): Promise<NamedPolicy> {
  const { name, level } = await source(given, flags.file)
  const over = overrides(flags, mergePolicies(level).backoff)
  const changed = Object.keys(over).length > 0
  return { name: changed ? `${name}, changed` : name, policy: mergePolicies(over, level) }
}

async function source(
  given: string | undefined,
  file: string | undefined,
): Promise<{ name: string; level: PartialPolicy }> {
  if (file === undefined) return fromText(given ?? 'standard', 'policy', 'inline')
  if (given !== undefined) throw usage(`--file: the policy ${shown(given)} is given too; give only one of them`)
  return fromText(await textOf(file), file, basename(file))
}

function fromText(text: string, where: string, otherwise: string): { name: string; level: PartialPolicy } {
  const trimmed = text.trim()
  if (!/^[{["]/.test(trimmed)) return { name: trimmed, level: parsePolicy(trimmed, where) }
  const value = json(trimmed, where)
  return { name: typeof value === 'string' ? value : otherwise, level: parsePolicy(value, where) }
}

function json(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new ChronosError('INVALID_POLICY', `${where}: invalid JSON (${problem}); give JSON or the name of a preset`, {
      cause: error,
    })
  }
}

async function textOf(file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8')
    if (text.length <= TEXT_MAX) return text
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    throw usage(`--file: cannot read ${file} (${code}); give the path of a JSON file`)
  }
  throw usage(`--file: ${file} is longer than ${TEXT_MAX} characters`)
}

/** The flags as a level of their own: they override a policy like the options of a job override its queue. */
function overrides(flags: PolicyFlags, from: Backoff): PartialPolicy {
  const type = (flags['strategy'] ?? (flags['delays'] === undefined ? from.type : 'list')) as Backoff['type']
  checkSuits(flags, type)
  if (flags['strategy'] === 'list' && flags['delays'] === undefined && from.type !== 'list') {
    throw usage('--strategy: list needs delays; add --delays 30s,60s,120s')
  }
  return parsePolicy(fromFlat(flags, from), 'policy')
}

/** Rejects a flag that the backoff does not have, instead of ignoring it. */
function checkSuits(flags: PolicyFlags, type: Backoff['type']): void {
  const own = fieldsOf(type).map(({ name }) => name)
  const stray = FLAT_FIELDS.find(({ name, keys }) => keys && flags[name] !== undefined && !own.includes(name))
  if (stray === undefined) return
  const suits = fieldsOf(type).map(({ schema }) => flagName(schema.about.flag!))
  const wayOut = `${suits.length > 0 ? `use ${suits.join(' and ')}, or ` : ''}give another --strategy`
  throw usage(`${flagName(stray.schema.about.flag!)}: ${type} backoff does not have it; ${wayOut}`)
}
