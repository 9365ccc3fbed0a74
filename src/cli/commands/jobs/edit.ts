import type { JobOrScheduleChanges } from '../../../core/schedule/form.js'
import type { Duration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import { act } from '../../act.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { readDeadline, readPayload, readPolicy } from '../enqueue/payload.js'
import { standing, title } from './job.js'

interface EditFlags extends BackendOptions {
  readonly payload?: string
  readonly queue?: string
  readonly priority?: number
  readonly tag?: readonly string[]
  readonly delay?: Duration
  readonly runAt?: Date | string
  readonly timeout?: Duration
  readonly deadline?: string
  readonly retry?: string
  readonly cron?: string
  readonly call?: string
  readonly ifVersion?: string
}

export async function editJob(id: string, flags: EditFlags, io: Io): Promise<void> {
  const changes = await changesIn(flags, io)
  await act(flags, io, ({ byId }) => byId.edit(id, changes, present({ version: flags.ifVersion })), {
    text: async (job, style, backend) =>
      `${title(job, style)}${standing(job, (await backend.info()).now, style).trimEnd()}`,
    note: () => `changed: ${Object.keys(changes).join(', ')}`,
  })
}

const NONE = 'none'

/** `none` removes a value; a value that is not given stays. */
async function changesIn(flags: EditFlags, io: Io): Promise<JobOrScheduleChanges> {
  const { queue, priority, tag, delay, runAt, timeout, deadline, retry, cron, call } = flags
  return present({
    payload: flags.payload === undefined ? undefined : await readPayload(flags.payload, io),
    schedule: cron,
    api: call,
    queue,
    priority,
    tags: tag?.length === 1 && tag[0] === NONE ? [] : tag,
    delay,
    runAt,
    timeout: (timeout as string | undefined) === NONE ? null : timeout,
    deadline: deadline === undefined ? undefined : deadline === NONE ? null : readDeadline(deadline),
    retry: retry === undefined ? undefined : retry === NONE ? null : readPolicy(retry, '--retry'),
  })
}
