import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { timeOf } from '../../../engine/client/enqueuer.js'
import type { JobChanges } from '../../../engine/jobs/jobs.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
import { readPayload, readPolicy } from '../enqueue/payload.js'
import { standing, title } from './job.js'

interface EditFlags extends BackendOptions {
  readonly json?: true
  readonly payload?: string
  readonly queue?: string
  readonly priority?: number
  readonly tag?: readonly string[]
  readonly delay?: Duration
  readonly runAt?: string
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

/** `none` takes away what was set; what is not given stays. */
const NONE = 'none'

async function changesIn(flags: EditFlags, io: Io): Promise<JobChanges> {
  const { queue, priority, tag, delay, runAt, timeout, deadline, retry } = flags
  return {
    ...(flags.payload !== undefined && { payload: await readPayload(flags.payload, io) }),
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(tag && { tags: tag.length === 1 && tag[0] === NONE ? [] : tag }),
    ...(delay !== undefined && { delay }),
    ...(runAt !== undefined && { runAt }),
    ...(timeout !== undefined && { timeout: (timeout as string) === NONE ? null : timeout }),
    ...(deadline !== undefined && { deadline: deadline === NONE ? null : deadlineOf(deadline) }),
    ...(retry !== undefined && { retry: retry === NONE ? null : readPolicy(retry, '--retry') }),
  }
}

function deadlineOf(text: string): Date | Duration {
  return parseDuration(text) === undefined ? new Date(timeOf(text, '--deadline')) : (text as Duration)
}
