import type { ScheduleView } from '../../../engine/schedules/view.js'
import { absolute } from '../../output/moment.js'
import { oneLine } from '../../output/width.js'

export function whenText({ cron, every, timeZone }: ScheduleView): string {
  return cron === undefined ? `every ${every}` : `${cron} (${timeZone})`
}

export function scheduleLine(schedule: ScheduleView): string {
  const { id, state, nextOccurrenceAt, version } = schedule
  const next = nextOccurrenceAt === undefined ? 'no next occurrence' : `next ${absolute(nextOccurrenceAt)}`
  return `schedule ${oneLine(id)} is ${state}: ${oneLine(whenText(schedule))}; ${next} (version ${version})`
}
