/** Uses every part of `job`, and returns what it saw. @type {import('../../../../src/index.js').Handler<{ n: number }, unknown>} */
export default async function everything({ n }, job) {
  job.log('began', { n })
  job.progress({ done: n })
  job.note('halfway')
  job.spent({ tokens: n * 100 })
  const first = await job.once('charge', () => ({ charged: n }))
  const again = await job.once('charge', () => ({ charged: -1 }))
  const before = job.clock.now()
  await job.clock.wait('2h')
  const { id, name, queue, tenantId, tags, key, attempt, maxAttempts, isLastAttempt, run, generation, delivery } = job
  return {
    facts: { id, name, queue, tenantId, tags, key, attempt, maxAttempts, isLastAttempt, run, generation, delivery },
    createdAt: job.createdAt.toISOString(),
    first,
    again,
    isAborted: job.signal.aborted,
    before: before instanceof Date,
    turn: { partition: job.partition, units: job.units },
  }
}
