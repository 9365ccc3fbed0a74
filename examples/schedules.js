// A schedule across the start of daylight saving time: the real scheduler on virtual time.
import { defineJob } from 'chronos-jobs'
import { testChronos } from 'chronos-jobs/testing'

const backup = defineJob({
  name: 'backup',
  retry: { maxRetries: 2, backoff: { type: 'fixed', delay: '10m' }, jitter: 'none' },
  run(_payload, job) {
    if (job.attempt === 1 && job.runAt.getUTCDate() === 28) throw new Error('the disk is full')
  },
})

const t = testChronos({ jobs: [backup], startAt: new Date('2026-03-27T12:00:00Z') })
const { schedules } = t.chronos
// At 02:30 in Paris, a time that does not exist on the 29th.
await schedules.put('nightly', { cron: '30 2 * * *', timeZone: 'Europe/Paris', job: backup })
await t.advance('3d')

const { data } = await schedules.history('nightly')
for (const run of [...data].reverse()) console.log(run.startedAt, run.label, run.status)
const [next] = schedules.preview({ cron: '30 2 * * *', timeZone: 'Europe/Paris' }, { count: 1 })
console.log('next at', next?.local)
await t.close()

// Output:
// 2026-03-28T01:30:00.000Z Initial failed
// 2026-03-28T01:40:00.000Z Retry #1 succeeded
// 2026-03-29T01:00:00.000Z Initial succeeded
// 2026-03-30T00:30:00.000Z Initial succeeded
// next at 2026-03-31T02:30:00+02:00
