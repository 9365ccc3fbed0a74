// Hours of retries in milliseconds: the real engine on virtual time.
import { defineJob, exponential } from 'chronos-jobs'
import { testChronos } from 'chronos-jobs/testing'

const sync = defineJob({
  name: 'sync',
  retry: exponential({ base: '30s', cap: '6h', maxRetries: 20, jitter: 'none' }),
  async run() {
    throw new Error('the other side is down')
  },
})

const t = testChronos({ jobs: [sync] })
const startedAt = t.now()
const { id } = await t.enqueue(sync)
await t.drain()
const job = await t.jobs.get(id)
const hours = Math.round((t.now().getTime() - startedAt.getTime()) / 3_600_000)
console.log(`${job?.state} (${job?.reason}) after ${job?.attempt} attempts in ${hours} virtual hours`)
await t.close()

// Output:
// dead (exhausted) after 21 attempts in 69 virtual hours
