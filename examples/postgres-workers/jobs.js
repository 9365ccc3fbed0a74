// Shared by the workers and the client: the job, and the address of the database.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, exponential } from 'chronos-jobs'

export const store = process.env['CHRONOS_STORE'] ?? 'postgres://localhost/postgres'

export const resize = defineJob({
  name: 'resize',
  queue: 'photos',
  retry: exponential({ base: '50ms', maxRetries: 5, jitter: 0.2 }),
  /** @param {{ photo: string }} payload */
  async run({ photo }, job) {
    await sleep(20)
    if (photo === 'photo-7.jpg' && job.attempt === 1) throw new Error('the disk was busy')
    console.log(`${process.argv[2] ?? process.pid} resized ${photo}`)
    return { width: 320 }
  },
})
