import type { Job } from '../../core/job/job.js'
import { present } from '../../core/values/present.js'
import { DELIVERIES } from '../../core/webhook/webhook.js'

type LoggedJob = Pick<Job, 'id' | 'name' | 'queue' | 'tenantId' | 'scheduleId' | 'payload' | 'attempt' | 'run'>

/** The fields of every log line about a job: an occurrence names its schedule, and a delivery the job that it reports. */
export function factsOf(event: string, job: LoggedJob): Record<string, unknown> {
  const { id: jobId, scheduleId, tenantId, name, queue, attempt, run } = job
  const aboutJobId = queue === DELIVERIES ? reportedJob(job.payload) : undefined
  return { event, ...present({ jobId, scheduleId, aboutJobId, tenantId, name, queue, attempt, run }) }
}

/** Undefined if the message is not about a job. */
function reportedJob(payload: string): string | undefined {
  try {
    const { body } = JSON.parse(payload) as { readonly body: string }
    return (JSON.parse(body) as { readonly data: { readonly jobId?: string } }).data.jobId
  } catch {
    return undefined
  }
}
