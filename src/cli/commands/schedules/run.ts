import type { ScheduleView } from '../../../engine/schedules/view.js'
import { act } from '../../act.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { type Field, list, NONE, type PageOptions, pageOf } from '../../list.js'
import { relative } from '../../output/moment.js'
import { countText } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { scheduleLine, whenText } from './line.js'

const FIELDS: readonly Field<ScheduleView>[] = [
  { title: 'Schedule', cell: ({ id }) => oneLine(id) },
  {
    title: 'State',
    cell: ({ state }) => (state === 'active' ? state : { text: state, tone: state === 'paused' ? 'warn' : 'dim' }),
  },
  { title: 'When', cell: schedule => oneLine(whenText(schedule)) },
  { title: 'Job', cell: ({ job }) => oneLine(job) },
  {
    title: 'Next',
    cell: ({ nextOccurrenceAt }, now) => (nextOccurrenceAt === undefined ? NONE : relative(nextOccurrenceAt, now)),
  },
  { title: 'Enqueued', align: 'right', cell: ({ fired }) => countText(fired) },
  { title: 'Skipped', align: 'right', cell: ({ skipped }) => countText(skipped) },
  {
    title: 'Missed',
    align: 'right',
    cell: ({ missedCount }) => (missedCount > 0 ? { text: countText(missedCount), tone: 'warn' } : '0'),
  },
]

export function listSchedules(options: BackendOptions & PageOptions, io: Io): Promise<void> {
  const read = ({ schedules }: Backend) => schedules.list(pageOf(options))
  return list({ noun: 'schedule', read, text: FIELDS }, options, io)
}

export function pauseSchedule(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ schedules }) => schedules.pause(id), { text: scheduleLine })
}

export function resumeSchedule(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ schedules }) => schedules.resume(id), { text: scheduleLine })
}

export function runSchedule(id: string, options: BackendOptions, io: Io): Promise<void> {
  return act(options, io, ({ schedules }) => schedules.run(id), { text: job => job.id })
}

export function deleteSchedule(id: string, options: BackendOptions, io: Io): Promise<void> {
  const remove = async ({ schedules }: Backend) => {
    await schedules.delete(id)
    return { id }
  }
  return act(options, io, remove, { text: () => `schedule ${oneLine(id)} is deleted; its jobs continue` })
}
