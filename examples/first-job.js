// A job that fails twice, is retried and succeeds, and its history.
import { createChronos, defineJob, exponential } from 'chronos-jobs'

const sendMail = defineJob({
  name: 'send-mail',
  retry: exponential({ base: '50ms', maxRetries: 3, jitter: 'none' }),
  /** @param {{ to: string }} mail */
  async run(mail, job) {
    if (job.attempt < 3) throw new Error('SMTP timeout')
    return `delivered to ${mail.to}`
  },
})

const chronos = createChronos({ store: 'memory:', log: false })
chronos.work([sendMail])

/** @type {Promise<void>} */
const done = new Promise(resolve => chronos.on('job.succeeded', () => resolve()))
const { id } = await chronos.enqueue(sendMail, { to: 'ada@example.org' })
await done

const job = await chronos.jobs.get(id)
console.log(job?.state, '–', job?.result)
const { data } = await chronos.jobs.history(id)
for (const attempt of data.toReversed()) {
  console.log(`${attempt.label}: ${attempt.status}${attempt.error ? ` (${attempt.error.message})` : ''}`)
}
await chronos.close()

// Output:
// succeeded – delivered to ada@example.org
// Initial: failed (SMTP timeout)
// Retry #1: failed (SMTP timeout)
// Retry #2: succeeded
