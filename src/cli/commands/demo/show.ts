import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultLog, silentLog } from '../../../engine/client/log.js'
import { systemDice } from '../../../engine/time/system.js'
import { EXIT, usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { paint, styleOf } from '../../output/print.js'
import { oneLine } from '../../output/width.js'
import { differences } from './check.js'
import { Live } from './live.js'
import { heading, introduction, report } from './report.js'
import { type DemoRun, type RunOptions, runDemo } from './run.js'

interface DemoOptions {
  readonly json?: true
  readonly seed?: number
  /** Path of the file to keep. */
  readonly store?: string
  readonly log?: true
}

const SEEDS = 1_000_000

export async function showDemo(options: DemoOptions, io: Io): Promise<number> {
  const { seed = Math.floor(systemDice.random() * SEEDS), store } = options
  const log = options.log ? defaultLog({ ...io.env }) : silentLog
  const show = options.json ? asJson : asText
  const isExpected = await withFile(store, path => show({ seed, path, log, interrupted: io.interrupted }, io, store))
  return isExpected ? EXIT.ok : EXIT.checkFailed
}

/** A new file, deleted at the end unless it was named. */
async function withFile<T>(named: string | undefined, use: (path: string) => Promise<T>): Promise<T> {
  if (named !== undefined) {
    if (!existsSync(named)) return use(named)
    throw usage(`--store: ${named} already exists; delete it or name a new file`)
  }
  const folder = await mkdtemp(join(tmpdir(), 'chronos-demo-'))
  try {
    return await use(join(folder, 'demo.db'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Setting = Omit<RunOptions, 'hear'>

async function asJson(setting: Setting, io: Io): Promise<boolean> {
  if (io.stderr.isTTY) io.stderr.write('Running for about six seconds …\n')
  const run = await runDemo({ ...setting, hear: () => {} })
  io.stdout.write(`${JSON.stringify(run, undefined, 2)}\n`)
  return isAsExpected(run, io)
}

async function asText(setting: Setting, io: Io, kept: string | undefined): Promise<boolean> {
  const { stdout } = io
  const style = styleOf(stdout, io.env)
  const live = new Live(style)
  const file = kept === undefined ? 'a temporary SQLite file' : `the file ${oneLine(kept)}`
  stdout.write(introduction(setting.seed, file, style) + heading('Live', style))
  const run = await runDemo({ ...setting, hear: event => stdout.write(live.line(event) ?? '') })
  stdout.write(report(run, style))
  const isExpected = isAsExpected(run, io)
  const verdict = paint('All outcomes as expected.', 'good', style)
  if (isExpected) stdout.write(`${verdict} To repeat the same delays: --seed ${run.seed}\n`)
  return isExpected
}

function isAsExpected({ jobs }: DemoRun, { stderr }: Io): boolean {
  const found = differences(jobs)
  for (const difference of found) stderr.write(`error: ${difference}\n`)
  return found.length === 0
}
