import type { DeathReason } from '../../../core/job/job.js'
import { isLeftAlone, type RedriveFilter } from '../../../core/redrive/redrive.js'
import { present } from '../../../core/values/present.js'
import type { Rate } from '../../../core/values/rate.js'
import type { DeadQuery, DryRun, RedriveOptions } from '../../../engine/dead/redrives.js'
import { type Backend, withBackend } from '../../backend/backend.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { jsonText, many, manyOf, show } from '../../output/show.js'
import { unconfirmed } from '../jobs/filter.js'
import { follow } from '../redrives/follow.js'
import { type ChoiceOptions, checkDead, choiceOf } from './choice.js'
import { deadTable } from './list.js'

export interface RedriveFlags extends ChoiceOptions {
  readonly rate?: Rate
  readonly canary?: number
  readonly stopWhenFailing?: number
  readonly force?: true
  readonly detach?: true
}

/** Only counts the jobs of a filter unless `--yes` is given. Workers carry out the redrive. */
export async function redriveDead(ids: readonly string[], flags: RedriveFlags, io: Io): Promise<number> {
  const query = choiceOf('redrive', ids, flags)
  const options = optionsOf(flags)
  return withBackend(flags, io, async backend => {
    await checkDead('redrive', ids, backend)
    const counted = await backend.dead.redrive(query, { ...options, dryRun: true })
    if (flags.dryRun) return showSample(backend, query, counted, flags, io)
    if (counted.count.value === 0) return nothing(counted, flags, io)
    if (ids.length === 0 && !flags.yes) {
      throw unconfirmed(`dead redrive: ${wordsOf(counted)}`, counted.count)
    }
    const { id } = await backend.dead.redrive(query, options)
    if (!flags.json)
      io.stderr.write(`redrive ${id} started: ${many(counted.count.value, 'job')}${leftAlone(counted)}\n`)
    if (!flags.detach) return follow(backend, id, flags, io)
    io.stdout.write(flags.json ? jsonText(await backend.redrives.get(id)) : `${id}\n`)
    return EXIT.ok
  })
}

function optionsOf({ rate, canary, stopWhenFailing, force, atMost }: RedriveFlags): Omit<RedriveOptions, 'dryRun'> {
  return present({ rate, canary, stopWhenFailing, force, atMost })
}

const leftAlone = ({ skipped }: DryRun): string =>
  skipped === 0 ? '' : `; ${many(skipped, 'job')} with unknown outcome or discarded skipped`

const wordsOf = (dry: DryRun): string => `${manyOf(dry.count, 'dead job')} would start again${leftAlone(dry)}`

function nothing(dry: DryRun, flags: RedriveFlags, io: Io): number {
  if (flags.json) io.stdout.write(jsonText(dry))
  else io.stderr.write(`nothing to redrive: ${wordsOf(dry)}\n`)
  return EXIT.ok
}

const SAMPLE = 5

async function showSample(
  backend: Backend,
  query: DeadQuery,
  dry: DryRun,
  flags: RedriveFlags,
  io: Io,
): Promise<number> {
  const [{ data }, { now }] = await Promise.all([backend.dead.list(query, { limit: 4 * SAMPLE }), backend.info()])
  const asked = { filter: query as RedriveFilter, force: flags.force === true }
  const sample = data.filter(({ reason }) => !isLeftAlone(asked, reason as DeathReason)).slice(0, SAMPLE)
  show(io, flags, { ...dry, sample }, style => (sample.length === 0 ? '' : deadTable(sample, now, style)))
  if (!flags.json) io.stderr.write(`${wordsOf(dry)}; nothing was changed\n`)
  return EXIT.ok
}
