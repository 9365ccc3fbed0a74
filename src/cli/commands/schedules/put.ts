import type { HttpMethod } from '../../../core/http/request.js'
import { type Missed, scheduleOptions } from '../../../core/schedule/options.js'
import { present } from '../../../core/values/present.js'
import type { ScheduleOptions } from '../../../engine/schedules/options.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { act } from '../../act.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { flagValues } from '../../flags.js'
import type { Io } from '../../io.js'
import { readPayload, readPolicy } from '../enqueue/payload.js'
import { scheduleLine } from './line.js'

interface PutFlags extends BackendOptions {
  readonly cron?: string
  readonly job?: string
  readonly payload?: string
  readonly call?: string
  readonly method?: string
  readonly missed?: string
  readonly once?: true
  readonly retry?: string
  readonly atMostOnce?: true
  readonly ifVersion?: number
}

/** Works on a new store. */
export async function putSchedule(id: string, flags: PutFlags, io: Io): Promise<void> {
  const options = await optionsOf(flags, io)
  const condition = present({ version: flags.ifVersion })
  const put = async ({ schedules }: Backend): Promise<ScheduleView> => {
    const schedule = await schedules.put(id, options, condition)
    for (const warning of schedule.warnings ?? []) io.stderr.write(`warning: ${warning}\n`)
    return schedule
  }
  await act(flags, io, put, { text: scheduleLine, need: 'any' })
}

async function optionsOf(flags: PutFlags, io: Io): Promise<ScheduleOptions> {
  const { job, call, method = 'POST', retry, missed, once } = flags
  return present({
    ...flagValues<ScheduleOptions>(scheduleOptions.fields, flags),
    payload: job === undefined ? undefined : await readPayload(flags.payload, io),
    http: call === undefined ? undefined : { url: call, method: method as HttpMethod },
    retry: retry === undefined ? undefined : readPolicy(retry, '--retry'),
    delivery: flags.atMostOnce ? ('at-most-once' as const) : undefined,
    missed: missed === undefined ? undefined : missedOf(missed),
    recurring: once ? false : undefined,
  })
}

function missedOf(text: string): Missed {
  const all = /^all:(\d{1,6})$/.exec(text)?.[1]
  return all === undefined ? (text as Missed) : { all: Number(all) }
}
