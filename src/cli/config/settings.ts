import type { Command } from 'commander'
import { limit, partitionLimits } from '../../core/partition/limits.js'
import { type PolicyInput, parsePolicy } from '../../core/policy/policy.js'
import { isPresetName } from '../../core/policy/presets.js'
import { HOUR_MS } from '../../core/values/duration.js'
import { isPlainObject } from '../../core/values/json.js'
import { name as queueName } from '../../core/values/limits.js'
import { present } from '../../core/values/present.js'
import {
  type About,
  about,
  boolean,
  duration,
  flaw,
  integer,
  literal,
  oneOf,
  pattern,
  read,
  type Schema,
  schema,
  text,
  value,
} from '../../core/values/schema.js'
import { list, object, record, union } from '../../core/values/shape.js'
import { traceUrl } from '../../core/values/trace-url.js'
import { webhookSecret } from '../../core/webhook/webhook.js'
import type { AlertsOptions } from '../../engine/alerts/alerts.js'
import type { Retention } from '../../engine/upkeep/retention.js'
import { collect } from '../argument.js'

/** A setting, which a flag, an environment variable or a file can set. */
interface Setting<T> {
  /** Checks the value; `fromText` parses a flag or a variable, and `expects` describes it in an error. */
  readonly schema: Schema<T>
  readonly otherwise: T
  /** Never shown, and can be read from a file: `…_FILE`. */
  readonly isSecret?: true
}

/** The schema with other words for what it accepts. */
const expecting = <T>(expects: string, schema: Schema<T>): Schema<T> => ({ ...schema, expects })

const words = (expects: string): Schema<readonly string[]> =>
  expecting(expects, list(text(1_024), { max: 1_000, of: 'values' }))

const FALSE: readonly string[] = ['0', 'false', 'no', 'off']
const yesOrNo: Schema<boolean> = {
  ...boolean,
  fromText(given) {
    if (['1', 'true', 'yes', 'on'].includes(given.toLowerCase())) return true
    return FALSE.includes(given.toLowerCase()) ? false : given
  },
}

function json(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

const MEGABYTE = 1_000_000
const BODY_MAX_BYTES = 64 * MEGABYTE
const UNITS: Readonly<Record<string, number>> = { '': 1, kb: 1_000, mb: MEGABYTE }
const byteCount = integer(1_000, BODY_MAX_BYTES)

/** Bytes, or `512kb`, `2mb`. */
const size = schema<number>({
  kinds: ['string', 'number'],
  expects: `a size from 1kb to ${BODY_MAX_BYTES / MEGABYTE}mb`,
  check(given) {
    const [, digits, unit] = (typeof given === 'string' && /^(\d{1,9})(kb|mb)?$/i.exec(given.trim())) || []
    return byteCount.check(digits === undefined ? given : Number(digits) * UNITS[(unit ?? '').toLowerCase()]!)
  },
})

/** A value that a check of the engine accepts. */
function checkedBy<T>(expects: string, schema: Schema<T>, check: (given: T) => void): Schema<T> {
  return {
    ...schema,
    expects,
    check(given) {
      const kept = schema.check(given)
      try {
        check(kept)
      } catch {
        throw flaw(`expected ${expects}`)
      }
      return kept
    },
  }
}

const policy: Schema<PolicyInput> = {
  ...checkedBy(
    'a preset such as financial, or a policy such as {"maxRetries": 5}',
    value<PolicyInput>({ kinds: ['string', 'object'], expects: '' }, () => true),
    given => void parsePolicy(given, 'retry'),
  ),
  fromText: given => (isPresetName(given) ? given : json(given)),
}

const retention = optional({
  ...expecting(
    'a duration such as 7d, or false',
    union(duration({ min: 1, max: 10 * 365 * 24 * HOUR_MS }), literal(false)),
  ),
  fromText: given => (FALSE.includes(given.toLowerCase()) ? false : given),
})

/** `config show` keeps this order. */
const TABLE = {
  store: {
    ...setting(expecting('sqlite:PATH or postgres://…', text(4_096)), 'sqlite:./chronos.db', {
      flag: '--store <url>',
      description: 'sqlite:PATH or postgres://… (default: CHRONOS_STORE, or sqlite:./chronos.db)',
    }),
    isSecret: true,
  },
  url: optional(
    value<string>(
      { kinds: ['string'], expects: 'the address of a server without a login, such as http://127.0.0.1:4100' },
      // A login in the address would be printed with every error; the token has a setting of its own.
      given => typeof given === 'string' && /^https?:(?!\/\/[^/?#]*@)/i.test(given) && URL.canParse(given),
    ),
    { flag: '--url <url>', description: 'use a server instead: http://127.0.0.1:4100 (default: CHRONOS_URL)' },
  ),
  token: {
    ...optional(pattern(512, /^[\x21-\x7e]{16,512}$/, 'a token of 16 to 512 printable characters'), {
      flag: '--token <token>',
      description: 'API token for the server (default: CHRONOS_TOKEN)',
    }),
    isSecret: true,
  },
  viewerToken: {
    ...optional(pattern(512, /^[\x21-\x7e]{16,512}$/, 'a token of 16 to 512 printable characters')),
    isSecret: true,
  },
  host: setting(expecting('an address or a name, such as 127.0.0.1 or 0.0.0.0', text(253)), '127.0.0.1', {
    flag: '--host <address>',
    description: 'listen on this address',
  }),
  port: setting(expecting('a port from 0 to 65535', integer(0, 65_535)), 4100, {
    flag: '--port <number>',
    description: 'listen on this port; 0 picks a free one',
  }),
  basePath: setting(pattern(1_024, /^\/(?:[\w.~-]+(?:\/[\w.~-]+)*)?$/, 'a path such as /jobs'), '/', {
    flag: '--base-path <path>',
    description: 'path prefix, if a proxy adds one',
  }),
  allowedHosts: setting(words('host names, such as jobs.example.com'), []),
  readOnly: setting(yesOrNo, false, { flag: '--read-only', description: 'reject all changes' }),
  mcpWrites: setting(yesOrNo, false, {
    flag: '--mcp-writes',
    description: 'let operators make changes over MCP',
  }),
  envName: optional(expecting('up to 40 characters', text(40))),
  envColor: optional(pattern(20, /^(#[0-9a-fA-F]{3,8}|[a-z]{3,20})$/, 'a colour such as crimson or #c0392b')),
  traceUrl: optional(traceUrl),
  maxBody: setting(size, 4_194_304),
  drainDelay: optional(expecting('a duration up to 10m, such as 5s', duration({ min: 0, max: 600_000 }))),
  shutdownTimeout: setting(
    expecting('a duration up to 24h, such as 25s', duration({ min: 0, max: 24 * HOUR_MS })),
    '25s',
  ),
  jobs: setting(words('paths of modules, such as ./jobs.js'), [], {
    flag: '--jobs <file>',
    description: 'module that exports job definitions; repeatable',
  }),
  queues: setting(
    checkedBy('names of queues', words(''), names => {
      for (const name of names) read(queueName, name, 'queue')
    }),
    [],
    {
      flag: '--queues <names>',
      description: 'work on these queues: mail,payments (default: those of its jobs, and "default")',
    },
  ),
  concurrency: setting(integer(1, 10_000), 10, {
    flag: '--concurrency <number>',
    description: 'number of jobs at the same time',
  }),
  build: optional(expecting('the version of your program, up to 100 characters', text(100)), {
    flag: '--build <version>',
    description: 'version of your program, shown with workers, errors and incidents (default: CHRONOS_BUILD)',
  }),
  lease: setting(expecting('a duration from 1s to 1h', duration({ min: 1_000, max: HOUR_MS })), '30s'),
  limits: optional({
    ...expecting(
      'limits by queue, such as {"crm": {"partitions": {"concurrency": 2}}}',
      record(object({}, { limit, partitions: partitionLimits }), { max: 1_000, of: 'limits by queue' }),
    ),
    fromText: json,
  }),
  retry: optional(policy),
  'retention.succeeded': retention,
  'retention.cancelled': retention,
  'retention.dead': retention,
  webhookSecret: { ...optional(webhookSecret), isSecret: true },
  egressAllow: setting(words('networks and host names, such as 10.1.0.0/16,hooks.internal'), []),
  alerts: {
    ...optional<AlertsOptions>({
      ...value({ kinds: ['object'], expects: 'an object with rules and channels' }, isPlainObject),
      fromText: json,
    }),
    isSecret: true,
  },
  logLevel: setting(
    expecting('debug, info, warn, error or silent', oneOf(['debug', 'info', 'warn', 'error', 'silent'])),
    'info',
    { flag: '--log-level <level>', description: 'debug, info, warn, error or silent' },
  ),
  logFormat: optional(expecting('json or pretty', oneOf(['json', 'pretty'])), {
    flag: '--log-format <format>',
    description: 'json or pretty (default: pretty on a terminal)',
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>

export type SettingName = keyof typeof TABLE
export type Settings = { readonly [Name in SettingName]: (typeof TABLE)[Name]['otherwise'] }

function setting<T>(schema: Schema<T>, otherwise: NoInfer<T>, words: About = {}): Setting<T> {
  return { schema: about(schema, words), otherwise }
}

function optional<T>(schema: Schema<T>, words: About = {}): Setting<T | undefined> {
  return { schema: about(schema, words), otherwise: undefined }
}

export const SETTING_NAMES = Object.keys(TABLE) as readonly SettingName[]

/** `egressAllow` → `CHRONOS_EGRESS_ALLOW`, `retention.dead` → `CHRONOS_RETENTION_DEAD`. */
const variableOf = (name: string): string =>
  `CHRONOS_${name
    .replace('.', '_')
    .replace(/[A-Z]/g, letter => `_${letter}`)
    .toUpperCase()}`

export const SETTINGS = Object.fromEntries(
  Object.entries<Setting<unknown>>(TABLE).map(([name, parts]) => [name, { ...parts, env: variableOf(name) }]),
) as Readonly<Record<SettingName, Setting<unknown> & { readonly env: string }>>

export function addSettingFlags(command: Command, ...names: readonly SettingName[]): Command {
  for (const name of names) {
    const { schema, otherwise } = SETTINGS[name]
    const { flag = '', description = '' } = schema.about
    const isSaid = description.includes('(default:') || !['string', 'number'].includes(typeof otherwise)
    const help = isSaid ? description : `${description} (default: ${otherwise})`
    if (name === 'jobs') command.option(flag, help, collect)
    else command.option(flag, help)
  }
  return command
}

/** The name of a setting's flag in messages. */
export const flagOf = (name: SettingName): string => (SETTINGS[name].schema.about.flag ?? name).replace(/ .*/, '')

/** How long ended jobs are kept. */
export function retentionIn(settings: Settings): Exclude<Retention, false> {
  return present({
    succeeded: settings['retention.succeeded'],
    cancelled: settings['retention.cancelled'],
    dead: settings['retention.dead'],
  })
}
