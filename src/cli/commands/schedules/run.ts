import type { ScheduleView } from '../../../engine/schedules/view.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { relative } from '../../output/moment.js'
import { type Cell, type Style, table } from '../../output/print.js'
import { countText, jsonText, many, show } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { scheduleLine, whenText } from './line.js'

interface ListFlags extends BackendOptions {
  readonly json?: true
  readonly limit?: number
  readonly cursor?: string
}

export async function listSchedules({ limit, cursor, ...flags }: ListFlags, io: Io): Promise<void> {
  await withBackend(flags, io, async backend => {
    const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const [found, { now }] = await Promise.all([backend.schedules.list(page), backend.info()])
    show(io, flags, found, style => (found.data.length === 0 ? '' : scheduleTable(found.data, now, style)))
    if (flags.json) return
    const more = found.page.next === undefined ? '' : `; more with --cursor ${found.page.next}`
    io.stderr.write(`${many(found.data.length, 'schedule')}${more}\n`)
  })
}

function scheduleTable(schedules: readonly ScheduleView[], now: number, style: Style): string {
  const columns = [
    { title: 'Schedule' },
    { title: 'State' },
    { title: 'When' },
    { title: 'Job' },
    { title: 'Next' },
    { title: 'Made', align: 'right' },
    { title: 'Skipped', align: 'right' },
    { title: 'Missed', align: 'right' },
  ] as const
  const rows = schedules.map((schedule): Cell[] => {
    const { id, state, job, nextOccurrenceAt, fired, skipped, missedCount } = schedule
    return [
      oneLine(id),
      state === 'active' ? state : { text: state, tone: state === 'paused' ? 'warn' : 'dim' },
      oneLine(whenText(schedule)),
      oneLine(job),
      nextOccurrenceAt === undefined ? { text: '-', tone: 'dim' } : relative(nextOccurrenceAt, now),
      countText(fired),
      countText(skipped),
      missedCount > 0 ? { text: countText(missedCount), tone: 'warn' } : '0',
    ]
  })
  return table(columns, rows, { ...style, boxes: false })
}

export async function actOn(
  verb: 'pause' | 'resume' | 'run' | 'delete',
  id: string,
  flags: BackendOptions & { readonly json?: true },
  io: Io,
): Promise<void> {
  await withBackend(flags, io, async ({ schedules }) => {
    if (verb === 'run') {
      const made = await schedules.run(id)
      io.stdout.write(flags.json ? jsonText(made) : `${made.id}\n`)
    } else if (verb === 'delete') {
      await schedules.delete(id)
      show(io, flags, { id }, () => `schedule ${oneLine(id)} is gone; the jobs that it made stay\n`)
    } else {
      const schedule = await schedules[verb](id)
      show(io, flags, schedule, () => scheduleLine(schedule))
    }
  })
}
