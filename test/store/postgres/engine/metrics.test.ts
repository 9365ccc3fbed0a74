import { afterAll, expect, it } from 'vitest'
import { fixed } from '../../../../src/core/policy/builders.js'
import { Chronos } from '../../../../src/engine/client/chronos.js'
import { defineJob } from '../../../../src/engine/client/definition.js'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { Metrics } from '../../../../src/server/metrics/metrics.js'
import { dropSchemas, freshSchema, openStore } from '../../../support/postgres.js'
import { parseExposition, valueIn } from '../../../support/prometheus.js'

afterAll(dropSchemas)

it('two processes each report their own work, and both report the state of the fleet', async () => {
  const schema = freshSchema()
  const retry = fixed({ delay: 10, maxRetries: 1, jitter: 'none' })
  const flaky = defineJob({
    name: 'flaky',
    retry,
    async run(failures: number, job) {
      if (job.attempt <= failures) throw new Error('no')
    },
  })
  const [client, server] = [1, 2].map(
    () => new Chronos(() => openStore({ schema }), systemClock, systemDice, { log: false }),
  ) as [Chronos, Chronos]
  const [ofClient, ofServer] = [new Metrics(client, systemClock), new Metrics(server, systemClock)]
  const ended = new Promise<void>(resolve => {
    let count = 0
    const onEnd = (): void => void (++count === 4 && resolve())
    server.on('job.succeeded', onEnd)
    server.on('job.dead', onEnd)
  })
  await client.enqueueMany(flaky, [0, 1, 1, 2])
  server.work([flaky], { signals: false })
  await ended

  const here = parseExposition((await ofClient.render()).text)
  const there = parseExposition((await ofServer.render()).text)
  const place = { queue: 'default', name: 'flaky' }
  expect(valueIn(here, 'chronos_jobs_enqueued_total', place)).toBe(4)
  expect(valueIn(here, 'chronos_attempts_total', { ...place, outcome: 'succeeded' })).toBe(0)
  expect(valueIn(there, 'chronos_jobs_enqueued_total', place)).toBe(0)
  expect(valueIn(there, 'chronos_attempts_total', { ...place, outcome: 'failed' })).toBe(4)
  expect(valueIn(there, 'chronos_retries_total', place)).toBe(3)
  expect(valueIn(there, 'chronos_retry_latency_seconds_count', { queue: 'default' })).toBe(3)
  for (const families of [here, there]) {
    expect(valueIn(families, 'chronos_store_up')).toBe(1)
    expect(valueIn(families, 'chronos_dead_letters', { queue: 'default' })).toBe(1)
    expect(valueIn(families, 'chronos_jobs', { queue: 'default', phase: 'dead' })).toBe(1)
  }
  expect(valueIn(there, 'chronos_store_operation_seconds_count', { op: 'claim' })).toBeGreaterThan(0)
  await Promise.all([client.close(), server.close()])
})
