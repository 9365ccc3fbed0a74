// Enqueues forty photos and waits until the workers on the same database have resized them: `node client.js`.
import { setTimeout as sleep } from 'node:timers/promises'
import { createChronos } from 'chronos-jobs'
import { resize, store } from './jobs.js'

const chronos = createChronos({ store, log: false })
const photos = Array.from({ length: 40 }, (_, index) => ({ photo: `photo-${index + 1}.jpg` }))
const enqueued = await chronos.enqueueMany(resize, photos)
console.log('enqueued', enqueued.length)
while ((await chronos.jobs.count({ name: 'resize', state: ['waiting', 'running'] })).value > 0) await sleep(100)
console.log('resized', (await chronos.jobs.count({ name: 'resize', state: 'succeeded' })).value)
const busy = await chronos.jobs.history(enqueued[6]?.id ?? '')
for (const { label, status, error } of busy.data.toReversed())
  console.log(`${label}: ${status}${error ? ` (${error.message})` : ''}`)
await chronos.close()

// Output:
// enqueued 40
// resized 40
// Initial: failed (the disk was busy)
// Retry #1: succeeded
