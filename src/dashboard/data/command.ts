/** The flags that are not named after their field. */
const FLAGS: Readonly<Record<string, string>> = {
  timeZone: 'tz',
  tenantId: 'tenant',
  scheduleId: 'schedule',
  redriveId: 'redrive',
  workerId: 'worker',
  tags: 'tag',
}

/** Flags without a value. */
const SWITCHES: ReadonlySet<string> = new Set(['retried', 'acknowledged'])

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/** Fields as flags of a command: `{ tenantId: 'acme', tags: ['a', 'b'] }` → `--tenant acme`, `--tag a`, `--tag b`. */
export function flagsOf(fields: object): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return []
    if (SWITCHES.has(name)) return [`--${String(value) === 'true' ? '' : 'no-'}${kebab(name)}`]
    if (name === 'delivery') return value === 'at-most-once' ? ['--at-most-once'] : []
    const values = Array.isArray(value) ? value : [value]
    return values.map(each => `--${FLAGS[name] ?? kebab(name)} ${word(each)}`)
  })
}

/** A value as a word of a shell command: text as it is, anything else as JSON. */
export const word = (value: unknown): string => quoted(typeof value === 'string' ? value : JSON.stringify(value))

/** A word of a shell command, quoted if needed. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
