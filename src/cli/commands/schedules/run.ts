import type { ScheduleView } from '../../../engine/schedules/view.js'
import { type Field, type Listing, NONE, type PageOptions, pageOf } from '../../list.js'
import { relative } from '../../output/moment.js'
import { countText } from '../../output/show.js'
import { oneLine } from '../../output/width.js'
import { whenText } from './line.js'

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

export const SCHEDULES: Listing<ScheduleView, [PageOptions]> = {
  noun: 'schedule',
  read: ({ schedules }, options) => schedules.list(pageOf(options)),
  text: FIELDS,
}
