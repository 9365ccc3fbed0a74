import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, fixed } from '../../../dist/index.js'
import { DOWN, MAX_RETRIES } from './facts.js'

// Jobs that use every feature. Each handler writes to a ledger outside the system when it starts and when it ends.

/** @typedef {import('../../../dist/index.js').JobContext} Job */
/** @typedef {(what: string, facts: object) => void} Note */

/** @param {number} maxRetries */
const retry = maxRetries => fixed({ delay: '20ms', maxRetries, jitter: 'none' })

/** @param {Job} job */
const runOf = job => ({ id: job.id, run: job.run, attempt: job.attempt, generation: job.generation })

/** @type {Record<string, (job: Job, note: Note, folder: string) => Promise<unknown>>} */
const BEHAVIOURS = {
  plain: async () => 'done',
  slow: async job => sleep(50 + (job.id.charCodeAt(35) % 16) * 20),
  flaky: async job => {
    if (job.attempt === 1) throw new Error('not yet')
  },
  failing: async job => {
    if (job.generation === 1) throw new Error('never in the first generation')
  },
  charge: async (job, note) => {
    const value = await job.once('charge', async () => {
      note('effect', runOf(job))
      return `charged by run ${job.run}`
    })
    note('kept', { ...runOf(job), value })
    if (job.attempt === 1) throw new Error('after the effect')
  },
  most: async () => sleep(60),
  guarded: async (_job, _note, folder) => {
    if (existsSync(`${folder}/${DOWN}`)) throw new Error('the service is down')
    await sleep(5)
  },
  snoozing: async job => (job.run === 1 ? job.snooze('30ms', 'not in stock') : undefined),
}

const CIRCUIT = {
  window: /** @type {const} */ ('10s'),
  minimumCalls: 3,
  failureRate: 0.5,
  openFor: /** @type {const} */ ('1s'),
  openMax: /** @type {const} */ ('2s'),
  ramp: { perSecond: 100, doubleEvery: /** @type {const} */ ('1s') },
}

/**
 * The definitions for a worker that writes to this ledger.
 *
 * @param {Note} note
 * @param {string} folder
 */
export function definitions(note, folder) {
  return Object.entries(MAX_RETRIES).map(([name, maxRetries]) =>
    defineJob({
      name,
      delivery: name === 'most' ? 'at-most-once' : 'at-least-once',
      timeout: '30s',
      ...(name !== 'most' && { retry: retry(maxRetries) }),
      ...(name === 'guarded' && { dependsOn: 'service', retry: { ...retry(maxRetries), circuit: CIRCUIT } }),
      async run(_payload, job) {
        note('started', { ...runOf(job), name, pid: process.pid, from: import.meta.url })
        try {
          const result = await BEHAVIOURS[name]?.(job, note, folder)
          note('ended', { ...runOf(job), how: 'returned', pid: process.pid })
          return result
        } catch (error) {
          note('ended', { ...runOf(job), how: 'threw', pid: process.pid })
          throw error
        }
      },
    }),
  )
}
