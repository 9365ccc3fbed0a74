import { z } from 'zod'
import { type PolicyInput, parsePolicy } from '../../core/policy/policy.js'
import { isPresetName } from '../../core/policy/presets.js'
import { HOUR_MS, toMs } from '../../core/values/duration.js'
import { checkName } from '../../core/values/limits.js'
import type { AlertsOptions } from '../../engine/alerts/alerts.js'

/** A setting, which a flag, an environment variable or a file can set. */
interface Setting<T> {
  readonly env: string
  readonly tells: string
  /** In an error: `expected …`. */
  readonly expects: string
  /** Parses the text of an environment variable or a flag; the schema checks the result. */
  read(text: string): unknown
  readonly schema: z.ZodType<T>
  /** The default. */
  readonly otherwise: T
  /** Never shown, and can be read from a file: `…_FILE`. */
  readonly isSecret?: true
}

const text = (value: string): string => value
const number = (value: string): unknown => (/^\d{1,15}$/.test(value) ? Number(value) : value)
const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')

function flag(value: string): unknown {
  if (['1', 'true', 'yes', 'on'].includes(value.toLowerCase())) return true
  return ['0', 'false', 'no', 'off'].includes(value.toLowerCase()) ? false : value
}

function json(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

const MEGABYTE = 1_000_000
const BODY_MAX_BYTES = 64 * MEGABYTE
const UNITS: Readonly<Record<string, number>> = { '': 1, kb: 1_000, mb: MEGABYTE }

/** Bytes, or `512kb`, `2mb`. */
function bytes(value: string): unknown {
  const [, digits, unit] = /^(\d{1,9})(kb|mb)?$/i.exec(value.trim()) ?? []
  return digits === undefined ? value : Number(digits) * UNITS[(unit ?? '').toLowerCase()]!
}

/** Whether a check of the engine accepts the value. */
function accepts(check: (value: unknown) => void): (value: unknown) => boolean {
  return value => {
    try {
      check(value)
      return true
    } catch {
      return false
    }
  }
}

const nonEmpty = z.string().min(1).max(4_096)
const words = z.array(z.string().min(1).max(1_024)).max(1_000).readonly()
const names = words.refine(accepts(list => (list as string[]).forEach(name => void checkName(name, 'queue'))))
const duration = (min: number, max: number): z.ZodType<string | number> =>
  z.union([z.string(), z.number()]).refine(accepts(value => void toMs(value, 'duration', { min, max })))
const age = z.union([z.literal(false), duration(1, 10 * 365 * 24 * HOUR_MS)])
const policy = z.custom<PolicyInput>(accepts(value => void parsePolicy(value as PolicyInput, 'retry')))
const httpUrl = z.url({ protocol: /^https?$/ })

/** `config show` keeps this order. */
export const SETTINGS = {
  store: setting({
    env: 'CHRONOS_STORE',
    tells: 'where jobs are stored: sqlite:PATH or postgres://…',
    expects: 'sqlite:PATH or postgres://…',
    read: text,
    schema: nonEmpty,
    otherwise: 'sqlite:./chronos.db',
    isSecret: true,
  }),
  url: optional({
    env: 'CHRONOS_URL',
    tells: 'server that commands work on, instead of a store',
    expects: 'the address of a server, such as http://127.0.0.1:4100',
    read: text,
    schema: httpUrl,
  }),
  token: optional({
    env: 'CHRONOS_TOKEN',
    tells: "server: an administrator's token; commands: the token they send to a server",
    expects: 'a token of 16 to 512 printable characters',
    read: text,
    schema: z.string().regex(/^[\x21-\x7e]{16,512}$/),
    isSecret: true,
  }),
  host: setting({
    env: 'CHRONOS_HOST',
    tells: 'address to listen on; any other than loopback requires a token',
    expects: 'an address or a name, such as 127.0.0.1 or 0.0.0.0',
    read: text,
    schema: nonEmpty.max(253),
    otherwise: '127.0.0.1',
  }),
  port: setting({
    env: 'CHRONOS_PORT',
    tells: 'port to listen on; 0 chooses a free one',
    expects: 'a port from 0 to 65535',
    read: number,
    schema: z.int().min(0).max(65_535),
    otherwise: 4100,
  }),
  basePath: setting({
    env: 'CHRONOS_BASE_PATH',
    tells: 'path under which a proxy serves it: /jobs',
    expects: 'a path such as /jobs',
    read: text,
    schema: z.string().regex(/^\/(?:[\w.~-]+(?:\/[\w.~-]+)*)?$/),
    otherwise: '/',
  }),
  allowedHosts: setting({
    env: 'CHRONOS_ALLOWED_HOSTS',
    tells: 'host names that requests may use, besides the address',
    expects: 'host names, such as jobs.example.com',
    read: list,
    schema: words,
    otherwise: [],
  }),
  readOnly: setting({
    env: 'CHRONOS_READ_ONLY',
    tells: 'reject every change through the server',
    expects: 'true or false',
    read: flag,
    schema: z.boolean(),
    otherwise: false,
  }),
  envName: optional({
    env: 'CHRONOS_ENV_NAME',
    tells: 'badge on the dashboard: production',
    expects: 'up to 40 characters',
    read: text,
    schema: z.string().min(1).max(40),
  }),
  envColor: optional({
    env: 'CHRONOS_ENV_COLOR',
    tells: 'its colour: crimson, or #c0392b',
    expects: 'a colour such as crimson or #c0392b',
    read: text,
    schema: z.string().regex(/^(#[0-9a-fA-F]{3,8}|[a-z]{3,20})$/),
  }),
  maxBody: setting({
    env: 'CHRONOS_MAX_BODY',
    tells: 'maximum request size in bytes, or as 512kb, 2mb',
    expects: `a size from 1kb to ${BODY_MAX_BYTES / MEGABYTE}mb`,
    read: bytes,
    schema: z.preprocess(
      value => (typeof value === 'string' ? bytes(value) : value),
      z.int().min(1_000).max(BODY_MAX_BYTES),
    ),
    otherwise: 4_194_304,
  }),
  drainDelay: optional({
    env: 'CHRONOS_DRAIN_DELAY',
    tells: 'how long a stopping server still answers, so that load balancers notice; by default 5s, on loopback 0s',
    expects: 'a duration up to 10m, such as 5s',
    read: text,
    schema: duration(0, 600_000),
  }),
  shutdownTimeout: setting({
    env: 'CHRONOS_SHUTDOWN_TIMEOUT',
    tells: 'how long running jobs may continue when the process stops',
    expects: 'a duration up to 24h, such as 25s',
    read: text,
    schema: duration(0, 24 * HOUR_MS),
    otherwise: '25s',
  }),
  jobs: setting({
    env: 'CHRONOS_JOBS',
    tells: 'modules whose exported definitions the worker runs',
    expects: 'paths of modules, such as ./jobs.js',
    read: list,
    schema: words,
    otherwise: [],
  }),
  queues: setting({
    env: 'CHRONOS_QUEUES',
    tells: 'queues that the worker serves; by default those of its jobs',
    expects: 'names of queues',
    read: list,
    schema: names,
    otherwise: [],
  }),
  concurrency: setting({
    env: 'CHRONOS_CONCURRENCY',
    tells: 'jobs that the worker runs at the same time',
    expects: 'a whole number from 1 to 10000',
    read: number,
    schema: z.int().min(1).max(10_000),
    otherwise: 10,
  }),
  lease: setting({
    env: 'CHRONOS_LEASE',
    tells: 'how long a claim lasts without a heartbeat',
    expects: 'a duration from 1s to 1h',
    read: text,
    schema: duration(1_000, HOUR_MS),
    otherwise: '30s',
  }),
  retry: optional({
    env: 'CHRONOS_RETRY',
    tells: 'policy of jobs without their own: a preset or a policy',
    expects: 'a preset such as financial, or a policy such as {"maxRetries": 5}',
    read: value => (isPresetName(value) ? value : json(value)),
    schema: policy,
  }),
  'retention.succeeded': retention('CHRONOS_RETENTION_SUCCEEDED', 'succeeded jobs'),
  'retention.cancelled': retention('CHRONOS_RETENTION_CANCELLED', 'cancelled jobs'),
  'retention.dead': retention('CHRONOS_RETENTION_DEAD', 'dead jobs'),
  egressAllow: setting({
    env: 'CHRONOS_EGRESS_ALLOW',
    tells: 'addresses that HTTP jobs and webhooks may reach beyond public ones',
    expects: 'networks and host names, such as 10.1.0.0/16,hooks.internal',
    read: list,
    schema: words,
    otherwise: [],
  }),
  alerts: optional({
    env: 'CHRONOS_ALERTS',
    tells: 'rules and channels of alerts, as in createChronos',
    expects: 'an object with rules and channels',
    read: json,
    schema: z.custom<AlertsOptions>(value => typeof value === 'object' && value !== null && !Array.isArray(value)),
    isSecret: true,
  }),
  logLevel: setting({
    env: 'CHRONOS_LOG_LEVEL',
    tells: 'debug, info, warn, error or silent',
    expects: 'debug, info, warn, error or silent',
    read: text,
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    otherwise: 'info',
  }),
  logFormat: optional({
    env: 'CHRONOS_LOG_FORMAT',
    tells: 'json or pretty; by default pretty on a terminal',
    expects: 'json or pretty',
    read: text,
    schema: z.enum(['json', 'pretty']),
  }),
} as const

export type SettingName = keyof typeof SETTINGS

export type Settings = { readonly [Name in SettingName]: (typeof SETTINGS)[Name]['otherwise'] }

function setting<T>(parts: Setting<T>): Setting<T> {
  return parts
}

function optional<T>(parts: Omit<Setting<T>, 'otherwise'>): Setting<T | undefined> {
  return { ...parts, otherwise: undefined } as Setting<T | undefined>
}

function retention(env: string, what: string): Setting<string | number | false | undefined> {
  return optional({
    env,
    tells: `how long ${what} are kept; by default forever`,
    expects: 'a duration such as 7d, or false',
    read: value => (flag(value) === false ? false : value),
    schema: age,
  })
}

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]
