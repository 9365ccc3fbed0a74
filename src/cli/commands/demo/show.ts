import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChronosError } from '../../../core/values/error.js'
import { defaultLog, silentLog } from '../../../engine/client/log.js'
import { systemDice } from '../../../engine/time/system.js'
import type { Io } from '../../io.js'
import { paint, styleOf } from '../../output/print.js'
import { oneLine } from '../../output/width.js'
import { differences } from './check.js'
import { Live } from './live.js'
import { heading, introduction, report } from './report.js'
import { type DemoRun, type RunOptions, runDemo } from './run.js'

export interface DemoOptions {
  readonly json?: true
  readonly seed?: number
  /** Path of the file to keep. */
  readonly store?: string
  readonly log?: true
}

const SEEDS = 1_000_000

/** True when every job ended as its story says. */
export async function showDemo(options: DemoOptions, io: Io): Promise<boolean> {
  const { seed = Math.floor(systemDice.random() * SEEDS), store } = options
  const log = options.log ? defaultLog({ ...io.env }) : silentLog
  const show = options.json ? asJson : asText
  return withFile(store, path => show({ seed, path, log, interrupted: io.interrupted }, io, store))
}

/** Gives a new file, and takes it away again unless somebody named it. */
async function withFile<T>(named: string | undefined, use: (path: string) => Promise<T>): Promise<T> {
  if (named !== undefined) {
    if (!existsSync(named)) return use(named)
    throw new ChronosError(
      'INVALID_OPTION',
      `--store: ${named} exists, and the demo touches nobody's jobs; remove it or name a new file`,
    )
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
  return isAsTold(run, io)
}

async function asText(setting: Setting, io: Io, kept: string | undefined): Promise<boolean> {
  const { stdout } = io
  const style = styleOf(stdout, io.env)
  const live = new Live(style)
  const place = kept === undefined ? 'a temporary SQLite file' : `kept in ${oneLine(kept)}`
  stdout.write(introduction(setting.seed, place, style) + heading('Live', style))
  const run = await runDemo({ ...setting, hear: event => stdout.write(live.line(event) ?? '') })
  stdout.write(report(run, style))
  const told = isAsTold(run, io)
  if (told) stdout.write(`${paint('All ended as told.', 'good', style)} The same delays again: --seed ${run.seed}\n`)
  return told
}

/** A demo that could not fail would show nothing. */
function isAsTold({ jobs }: DemoRun, { stderr }: Io): boolean {
  const found = differences(jobs)
  for (const difference of found) stderr.write(`error: ${difference}\n`)
  return found.length === 0
}
