import { unhandledJobs } from '../../../engine/jobs/handlers.js'
import { systemClock, systemDice } from '../../../engine/time/system.js'
import { isPruning } from '../../../engine/upkeep/pruner.js'
import type { Store } from '../../../store/store.js'
import { schemaOf } from '../../backend/schema.js'
import { type BackendOptions, type StoreAddress, storeAddress } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import { type Io, unlessInterrupted } from '../../io.js'
import { paint, type Style, type Tone } from '../../output/print.js'
import { hang, many, show } from '../../output/show.js'
import { oneLine, padEnd } from '../../output/width.js'
import {
  type Check,
  checkSchema,
  handlerChecks,
  nodeCheck,
  postgresChecks,
  recordsCheck,
  retentionCheck,
  sqliteChecks,
} from './checks.js'
import { damagedRecords } from './records.js'

export interface Examination {
  readonly location: string
  readonly ok: boolean
  readonly checks: readonly Check[]
}

interface DoctorOptions extends BackendOptions {
  /** False: skip the slow check of an SQLite file. */
  readonly integrity: boolean
}

export async function examine(options: DoctorOptions, io: Io): Promise<number> {
  const address = await storeAddress(options, io, 'doctor')
  const examination = await unlessInterrupted(examinationOf(address, options), io.interrupted)
  show(io, options, examination, style => reportOf(examination, style))
  return examination.ok ? EXIT.ok : EXIT.checkFailed
}

async function examinationOf(address: StoreAddress, { integrity }: DoctorOptions): Promise<Examination> {
  const schema = await schemaOf(address)
  const first = checkSchema(schema)
  // Without the expected tables there is nothing else to check.
  const rest =
    first.status === 'ok' ? await (address.kind === 'sqlite' ? file(address.path, integrity) : server(address.url)) : []
  const checks = [first, nodeCheck(), ...rest]
  return { location: schema.location, ok: checks.every(({ status }) => status !== 'problem'), checks }
}

async function file(path: string, integrity: boolean): Promise<readonly Check[]> {
  const [{ sqlite }, { health }] = await Promise.all([
    import('../../../sqlite.js'),
    import('../../../store/sqlite/file/health.js'),
  ])
  const facts = await health(path, { clock: systemClock, dice: systemDice }, integrity ? 'damage' : 'none')
  const store = sqlite(path)
  try {
    return [...sqliteChecks(await store.info(), facts), ...(await recordChecks(store))]
  } finally {
    await store.close()
  }
}

async function server(url: string): Promise<readonly Check[]> {
  const { postgres } = await import('../../../postgres.js')
  const store = postgres(url)
  try {
    const checks = postgresChecks(await store.info(), await store.health(), await store.listenCheck())
    return [...checks, ...(await recordChecks(store))]
  } finally {
    await store.close()
  }
}

const KEPT_COUNTED = 1_000_000

async function recordChecks(store: Store): Promise<readonly Check[]> {
  const { now } = await store.info()
  const prunes = await isPruning(store)
  const kept = await store.count({ state: ['succeeded', 'dead', 'cancelled'] }, prunes ? 1 : KEPT_COUNTED)
  return [
    recordsCheck(await damagedRecords(store)),
    retentionCheck(prunes, kept),
    ...handlerChecks(await unhandledJobs(store, now)),
  ]
}

const SIGNS = {
  ok: { symbol: '✓', ascii: 'ok', tone: 'good' },
  warning: { symbol: '!', ascii: 'warning', tone: 'warn' },
  problem: { symbol: '✗', ascii: 'PROBLEM', tone: 'bad' },
} as const satisfies Record<Check['status'], { symbol: string; ascii: string; tone: Tone }>

const ASCII_COLUMNS = Math.max(...Object.values(SIGNS).map(({ ascii }) => ascii.length))

function reportOf({ location, checks }: Examination, style: Style): string {
  const nameColumns = Math.max(...checks.map(({ name }) => name.length))
  return `${paint(oneLine(location), 'strong', style)}\n\n${checks.map(check => lineOf(check, nameColumns, style)).join('')}\n${verdict(checks, style)}`
}

function lineOf({ name, status, found, wayOut }: Check, nameColumns: number, style: Style): string {
  const { symbol, ascii, tone } = SIGNS[status]
  const mark = style.unicode ? symbol : padEnd(ascii, ASCII_COLUMNS)
  const head = `  ${mark} ${padEnd(name, nameColumns)}  `
  // A symbol alone does not explain itself.
  const words = status === 'ok' || !style.unicode ? found : `${status}: ${found}`
  const text = hang(
    head.replace(mark, () => paint(mark, tone, style)),
    head.length,
    words,
    style,
  )
  const blank = ' '.repeat(head.length)
  return wayOut === undefined ? text : text + hang(blank, head.length, `${style.unicode ? '→' : '->'} ${wayOut}`, style)
}

function verdict(checks: readonly Check[], style: Style): string {
  const count = (status: Check['status']): number => checks.filter(check => check.status === status).length
  const [problems, warnings] = [count('problem'), count('warning')]
  if (problems > 0) return `${paint(many(problems, 'problem'), 'bad', style)}, ${many(warnings, 'warning')}.\n`
  if (warnings > 0) return `No problems, ${paint(many(warnings, 'warning'), 'warn', style)}.\n`
  return `${paint('No problems found.', 'good', style)}\n`
}
