// A worker whose jobs harm its process. Its parent restarts it when it has ended, and kills it when it does not answer.
import { setTimeout as sleep } from 'node:timers/promises'
import { createChronos, defineJob, fixed } from '../../../dist/index.js'
import { POISON_RETRIES } from './facts.js'
import { openLedger } from './ledger.js'
import './orphan.js'

const [store = '', ledger = ''] = process.argv.slice(2)
if (!store || !ledger) throw new Error('usage: poison.js STORE LEDGER')

const BLOCKED_MS = 2_500
const note = openLedger(ledger)

/** @type {Record<string, () => Promise<void>>} */
const BEHAVIOURS = {
  bystander: async () => sleep(50),
  abort: async () => {
    await sleep(20)
    process.abort()
  },
  memory: async () => {
    for (const kept = []; ; ) kept.push(new Array(1_000_000).fill(kept.length))
  },
  endless: async () => {
    for (;;);
  },
  // Longer than two leases, and nothing else runs in this process meanwhile.
  blocking: async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS)
  },
}

const definitions = Object.entries(BEHAVIOURS).map(([name, behave]) =>
  defineJob({
    name,
    timeout: '3s',
    retry: fixed({ delay: '20ms', maxRetries: POISON_RETRIES, jitter: 'none' }),
    async run(_payload, job) {
      const facts = { id: job.id, run: job.run, attempt: job.attempt, generation: job.generation, pid: process.pid }
      note('started', { ...facts, name })
      await behave()
      note('ended', { ...facts, how: 'returned' })
    },
  }),
)

const chronos = createChronos({ store, log: false })
chronos.work(definitions, { concurrency: 10, lease: '1s' })
process.on('message', () => process.send?.('alive'))
process.send?.('ready')
