import type { Job } from '../../core/job/job.js'
import { isInternal } from '../../core/queue/internal.js'

type LoggedJob = Pick<Job, 'id' | 'name' | 'queue' | 'tenantId' | 'scheduleId' | 'payload' | 'attempt' | 'run'>

/** The fields of every log line about a job: an occurrence names its schedule, and a delivery or event the job that it reports. */
export function factsOf(event: string, job: LoggedJob): Record<string, unknown> {
  const { id: jobId, scheduleId, tenantId, name, queue, attempt, run } = job
  const facts: Record<string, unknown> = { event, jobId, name, queue, attempt, run }
  if (scheduleId !== undefined) facts['scheduleId'] = scheduleId
  if (tenantId !== undefined) facts['tenantId'] = tenantId
  const aboutJobId = isInternal(queue) ? reportedJob(job.payload) : undefined
  if (aboutJobId !== undefined) facts['aboutJobId'] = aboutJobId
  return facts
}

/** Undefined if the message is not about a job. */
function reportedJob(payload: string): string | undefined {
  try {
    const { body, job } = JSON.parse(payload) as { readonly body: string; readonly job?: { readonly id: string } }
    if (job) return job.id
    return (JSON.parse(body) as { readonly data: { readonly jobId?: string } }).data.jobId
  } catch {
    return undefined
  }
}
