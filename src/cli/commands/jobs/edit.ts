import type { Duration } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import type { JobChanges } from '../../../engine/jobs/jobs.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
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
  readonly ifVersion?: string
}

export async function editJob(id: string, flags: EditFlags, io: Io): Promise<void> {
  const changes = await changesIn(flags, io)
  const { ifVersion } = flags
  await withBackend(flags, io, async backend => {
    const job = await backend.jobs.edit(id, changes, ifVersion === undefined ? {} : { version: ifVersion })
    const { now } = await backend.info()
    show(io, flags, job, style => `${title(job, style)}${standing(job, now, style)}`)
    if (!flags.json) io.stderr.write(`changed: ${Object.keys(changes).join(', ')}\n`)
  })
}

const NONE = 'none'

/** `none` removes a value; a value that is not given stays. */
async function changesIn(flags: EditFlags, io: Io): Promise<JobChanges> {
  const { queue, priority, tag, delay, runAt, timeout, deadline, retry } = flags
  return present({
    payload: flags.payload === undefined ? undefined : await readPayload(flags.payload, io),
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
