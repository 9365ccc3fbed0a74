import type { HttpMethod } from '../../../core/http/request.js'
import type { Missed, Overlap } from '../../../core/schedule/schedule.js'
import type { Duration } from '../../../core/values/duration.js'
import type { ScheduleOptions } from '../../../engine/schedules/options.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
import { readPayload, readPolicy } from '../enqueue/payload.js'
import { scheduleLine } from './line.js'

interface PutFlags extends BackendOptions {
  readonly json?: true
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
  readonly startAt?: string
  readonly endAt?: string
  readonly queue?: string
  readonly priority?: number
  readonly retry?: string
  readonly timeout?: Duration
  readonly atMostOnce?: true
  readonly tenant?: string
  readonly tag?: readonly string[]
  readonly ifVersion?: number
}

/** A new schedule may be the first thing in a store. */
export async function putSchedule(id: string, flags: PutFlags, io: Io): Promise<void> {
  const options = { ...timingOf(flags), ...(await jobOf(flags, io)) }
  const { ifVersion } = flags
  await withBackend(
    flags,
    io,
    async backend => {
      const schedule = await backend.schedules.put(id, options, ifVersion === undefined ? {} : { version: ifVersion })
      show(io, flags, schedule, () => scheduleLine(schedule))
    },
    'any',
  )
}

function timingOf({ cron, every, tz, splay, startAt, endAt, overlap, missed, once }: PutFlags): ScheduleOptions {
  return {
    ...(cron !== undefined && { cron }),
    ...(every !== undefined && { every }),
    ...(tz !== undefined && { timeZone: tz }),
    ...(splay !== undefined && { splay }),
    ...(startAt !== undefined && { startAt }),
    ...(endAt !== undefined && { endAt }),
    // What they may be is checked where they are used.
    ...(overlap !== undefined && { overlap: overlap as Overlap }),
    ...(missed !== undefined && { missed: missedOf(missed) }),
    ...(once && { recurring: false }),
  }
}

function missedOf(text: string): Missed {
  const all = /^all:(\d{1,6})$/.exec(text)?.[1]
  return all === undefined ? (text as Missed) : { all: Number(all) }
}

async function jobOf(flags: PutFlags, io: Io): Promise<ScheduleOptions> {
  const { job, call, method = 'POST', queue, priority, retry, timeout, tenant, tag } = flags
  return {
    ...(job !== undefined && { job, payload: await readPayload(flags.payload, io) }),
    ...(call !== undefined && { http: { url: call, method: method as HttpMethod } }),
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(retry !== undefined && { retry: readPolicy(retry, '--retry') }),
    ...(timeout !== undefined && { timeout }),
    ...(flags.atMostOnce && { delivery: 'at-most-once' as const }),
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(tag && { tags: tag }),
  }
}
