// A payment service is down for twenty minutes. Its jobs wait for the open circuit and lose no attempt; one probe at a
// time checks whether it is back. Jobs that died without a circuit breaker are redriven, with a canary.
import { defineJob, exponential } from 'chronos-jobs'
import { testChronos } from 'chronos-jobs/testing'

let isUp = false
let calls = 0

const charge = defineJob({
  name: 'charge',
  dependsOn: 'https://pay.example',
  retry: exponential({ base: '1s', maxRetries: 3, circuit: true }),
  /** @param {{ order: number }} payload */
  run({ order }) {
    calls++
    if (!isUp) throw Object.assign(new Error(`connect ECONNREFUSED (order ${order})`), { code: 'ECONNREFUSED' })
    return { order }
  },
})
const invoice = defineJob({
  name: 'invoice',
  retry: { maxRetries: 0 },
  /** @param {{ order: number }} payload */
  run({ order }) {
    if (!isUp) throw new Error(`order ${order} is not paid yet`)
  },
})

const t = testChronos({ jobs: [charge, invoice] })
const { circuits, dead, jobs, redrives } = t.chronos

await t.enqueueMany(
  charge,
  Array.from({ length: 200 }, (_, order) => ({ order })),
)
await t.enqueueMany(
  invoice,
  Array.from({ length: 200 }, (_, order) => ({ order })),
)
await t.advance('20m')

const [circuit] = (await circuits.list()).data
const waiting = await jobs.list({ name: 'charge' }, { limit: 1 })
console.log(`circuit ${circuit?.key}: ${circuit?.state} (${circuit?.reason})`)
console.log(
  `calls while it was away: ${calls} for 200 jobs; charges that died: ${(await jobs.count({ name: 'charge', state: 'dead' })).value}`,
)
console.log(`explain: ${(await jobs.explain(waiting.data[0]?.id ?? '')).summary}`)

const [group] = (await dead.groups()).data
console.log(`dead letters: ${group?.dead} × "${group?.title}"`)

isUp = true
const { id } = await dead.redrive(
  { fingerprint: group?.fingerprint ?? '' },
  { rate: '50/s', canary: 5, stopWhenFailing: 0.2 },
)
await t.drain({ within: '1h' })
await t.advance('1m')

const redrive = await redrives.get(id)
console.log(`redrive: ${redrive.state}, ${redrive.succeeded} of ${redrive.total.value} succeeded`)
console.log(`charges that succeeded: ${(await jobs.count({ name: 'charge', state: 'succeeded' })).value}`)
console.log(`verify: ${(await t.chronos.verify()).isSound ? 'every job is accounted for' : 'something is missing'}`)
await t.close()

// Output:
// circuit https://pay.example: open (Error: connect ECONNREFUSED (order 117))
// calls while it was away: 34 for 200 jobs; charges that died: 0
// explain: Waiting: the circuit of "https://pay.example" is open (Error: connect ECONNREFUSED (order 117)); it is tried again in 5m 35s (2026-01-01T00:25:35.000Z).
// dead letters: 200 × "order <n> is not paid yet"
// redrive: done, 200 of 200 succeeded
// charges that succeeded: 200
// verify: every job is accounted for
