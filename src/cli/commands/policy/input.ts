import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import {
  type Backoff,
  type Jitter,
  mergePolicies,
  type PartialPolicy,
  type Policy,
  parsePolicy,
} from '../../../core/policy/policy.js'
import type { Duration } from '../../../core/values/duration.js'
import { ChronosError, shown } from '../../../core/values/error.js'

export const STRATEGIES = ['exponential', 'linear', 'fixed', 'fibonacci', 'list'] as const

/** Checked by the command line already, each for itself. */
export interface PolicyFlags {
  readonly file?: string
  readonly strategy?: (typeof STRATEGIES)[number]
  readonly base?: Duration
  readonly factor?: number
  readonly increment?: Duration
  readonly delays?: readonly Duration[]
  readonly cap?: Duration
  readonly retries?: number
  readonly jitter?: Jitter
  readonly maxElapsed?: Duration
}

export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
}

const TEXT_MAX = 1_000_000

/** The policy that a command line means: one that is named, written or in a file, with the flags over it. */
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
  if (given !== undefined) throw usage(`--file: the policy ${shown(given)} is given too; keep one of them`)
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
    throw new ChronosError('INVALID_POLICY', `${where}: not JSON (${problem}); give JSON or the name of a preset`, {
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
    throw usage(`--file: ${file} can not be read (${code}); give the path of a JSON file`)
  }
  throw usage(`--file: ${file} is longer than ${TEXT_MAX} characters; that is no policy`)
}

/** The flags as a level of their own, so that they go over a policy as a job's options go over its queue's. */
function overrides(flags: PolicyFlags, from: Backoff): PartialPolicy {
  const { retries, jitter, cap, maxElapsed } = flags
  const backoff = backoffOf(flags, from)
  return parsePolicy(
    {
      ...(retries !== undefined && { maxRetries: retries }),
      ...(backoff !== undefined && { backoff }),
      ...(jitter !== undefined && { jitter }),
      ...(cap !== undefined && { cap }),
      ...(maxElapsed !== undefined && { maxElapsed }),
    },
    'policy',
  )
}

/** Undefined where no flag speaks of it. */
function backoffOf(flags: PolicyFlags, from: Backoff): Backoff | undefined {
  const { strategy, base, factor, increment, delays } = flags
  const shapes = { '--base': base, '--factor': factor, '--increment': increment, '--delays': delays }
  const used = Object.entries(shapes)
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => flag)
  if (strategy === undefined && used.length === 0) return undefined
  const type = strategy ?? (delays === undefined ? from.type : 'list')
  const stray = used.find(flag => !SUITS[type].includes(flag))
  if (stray !== undefined) throw usage(`${stray}: ${type} backoff has none; ${wayOut(type)}`)
  const first = base ?? firstOf(from)
  switch (type) {
    case 'list':
      if (delays !== undefined) return { type, delays, ...(isLonger(flags) && { afterEnd: 'repeat-last' as const }) }
      if (from.type === 'list') return from
      throw usage('--strategy: a list needs its delays; add --delays 30s,60s,120s')
    case 'fixed':
      return { type, delay: first }
    case 'exponential': {
      const growth = factor ?? (from.type === type ? from.factor : undefined)
      return { type, base: first, ...(growth !== undefined && { factor: growth }) }
    }
    case 'linear': {
      const growth = increment ?? (from.type === type ? from.increment : undefined)
      return { type, base: first, ...(growth !== undefined && { increment: growth }) }
    }
    case 'fibonacci':
      return { type, base: first }
    case 'custom':
      return from
  }
}

/** There is no flag for what follows the list: who asks for more retries than delays can mean only one thing. */
function isLonger({ delays = [], retries = 0 }: PolicyFlags): boolean {
  return retries > delays.length
}

const SUITS: Readonly<Record<Backoff['type'], readonly string[]>> = {
  exponential: ['--base', '--factor'],
  linear: ['--base', '--increment'],
  fixed: ['--base'],
  fibonacci: ['--base'],
  list: ['--delays'],
  custom: [],
}

function wayOut(type: Backoff['type']): string {
  const own = SUITS[type]
  return `${own.length > 0 ? `use ${own.join(' and ')}, or ` : ''}say another --strategy`
}

const BASE_DEFAULT: Duration = '60s'

function firstOf(backoff: Backoff): Duration {
  switch (backoff.type) {
    case 'fixed':
      return backoff.delay
    case 'list':
    case 'custom':
      return BASE_DEFAULT
    default:
      return backoff.base
  }
}

function usage(message: string): ChronosError {
  return new ChronosError('INVALID_OPTION', message)
}
