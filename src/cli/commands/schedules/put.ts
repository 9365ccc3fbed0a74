import type { HttpMethod } from '../../../core/http/request.js'
import type { Missed, Overlap } from '../../../core/schedule/schedule.js'
import type { Duration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { ScheduleOptions } from '../../../engine/schedules/options.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { act } from '../../act.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { readPayload, readPolicy } from '../enqueue/payload.js'
import { scheduleLine } from './line.js'

interface PutFlags extends BackendOptions {
  readonly cron?: string
  readonly every?: Duration
  readonly tz?: string
  readonly job?: string
  readonly payload?: string
  readonly call?: string
  readonly method?: string
  readonly overlap?: string
  readonly missed?: string
  readonly splay?: Duration
  readonly once?: true
  readonly startAt?: Date | string
  readonly endAt?: Date | string
  readonly queue?: string
  readonly priority?: number
  readonly retry?: string
  readonly timeout?: Duration
  readonly atMostOnce?: true
  readonly tenant?: string
  readonly tag?: readonly string[]
  readonly ifVersion?: number
}

/** Works on a new store. */
export async function putSchedule(id: string, flags: PutFlags, io: Io): Promise<void> {
  const options = { ...timingOf(flags), ...(await jobOf(flags, io)) }
  const condition = present({ version: flags.ifVersion })
  const put = async ({ schedules }: Backend): Promise<ScheduleView> => {
    const schedule = await schedules.put(id, options, condition)
    for (const warning of schedule.warnings ?? []) io.stderr.write(`warning: ${warning}\n`)
    return schedule
  }
  await act(flags, io, put, { text: scheduleLine, need: 'any' })
}

function timingOf({ cron, every, tz, splay, startAt, endAt, overlap, missed, once }: PutFlags): ScheduleOptions {
  return present({
    cron,
    every,
    timeZone: tz,
    splay,
    startAt,
    endAt,
    // The engine checks their values.
    overlap: overlap as Overlap | undefined,
    missed: missed === undefined ? undefined : missedOf(missed),
    recurring: once ? false : undefined,
  })
}

function missedOf(text: string): Missed {
  const all = /^all:(\d{1,6})$/.exec(text)?.[1]
  return all === undefined ? (text as Missed) : { all: Number(all) }
}

async function jobOf(flags: PutFlags, io: Io): Promise<ScheduleOptions> {
  const { job, call, method = 'POST', queue, priority, retry, timeout, tenant, tag } = flags
  return present({
    job,
    payload: job === undefined ? undefined : await readPayload(flags.payload, io),
    http: call === undefined ? undefined : { url: call, method: method as HttpMethod },
    queue,
    priority,
    retry: retry === undefined ? undefined : readPolicy(retry, '--retry'),
    timeout,
    delivery: flags.atMostOnce ? ('at-most-once' as const) : undefined,
    tenantId: tenant,
    tags: tag,
  })
}
