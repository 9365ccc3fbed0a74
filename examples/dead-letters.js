// A permanent error ends a job at once. Once the cause is fixed, the dead job is started again.
import { createChronos, defineJob, PermanentError } from 'chronos-jobs'

let addressKnown = false
const invoice = defineJob({
  name: 'invoice',
  /** @param {{ customer: string }} payload */
  async run({ customer }) {
    if (!addressKnown) throw new PermanentError(`${customer} has no address`)
    return 'sent'
  },
})

const chronos = createChronos({ store: 'memory:', log: false })
chronos.work([invoice])

/** @param {'job.dead' | 'job.succeeded'} name @returns {Promise<void>} */
const next = name => new Promise(resolve => chronos.on(name, () => resolve()))

const died = next('job.dead')
const { id } = await chronos.enqueue(invoice, { customer: 'Acme' })
await died
const dead = await chronos.jobs.get(id)
console.log(dead?.state, dead?.reason, '–', dead?.error?.message)
const [attempt] = (await chronos.jobs.history(id)).data
console.log(attempt?.decision?.why)

addressKnown = true
const succeeded = next('job.succeeded')
await chronos.jobs.retry(id)
await succeeded
const again = await chronos.jobs.get(id)
console.log(again?.state, 'in generation', again?.generation)
await chronos.close()

// Output:
// dead permanent – Acme has no address
// died: PermanentError is permanent (handler)
// succeeded in generation 2
