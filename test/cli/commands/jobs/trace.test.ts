import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { AttemptView } from '../../../../src/core/job/view.js'
import { seededDice } from '../../../../src/engine/time/virtual.js'
import { defineJob, fixed } from '../../../../src/index.js'
import { sqliteStore } from '../../../../src/store/sqlite/store.js'
import { testChronos } from '../../../../src/testing.js'
import { startTracing } from '../../../support/opentelemetry.js'
import { say } from '../../memory-io.js'

it('jobs get and jobs history show the trace of each attempt', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chronos-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'chronos.db')
  using traced = startTracing()
  const mail = defineJob({
    name: 'mail',
    retry: fixed({ delay: '1s', maxRetries: 1 }),
    run(_: null, job) {
      if (job.attempt === 1) throw new Error('SMTP said 421')
    },
  })
  const t = testChronos({
    jobs: [mail],
    store: clock => sqliteStore({ path, clock, dice: seededDice(1) }),
    tracing: traced.api,
  })
  const { id } = await t.enqueue(mail, null)
  await t.drain()
  await t.close()
  const traces = traced.spans('process default').map(span => span.spanContext().traceId)
  expect(traces).toHaveLength(2)
  const env = { CHRONOS_STORE: `sqlite:${path}` }
  for (const command of ['get', 'history']) {
    const { stdout } = await say(['jobs', command, id], { env })
    for (const trace of traces) expect(stdout).toContain(`trace ${trace}`)
    const json = JSON.parse((await say(['jobs', command, id, '--json'], { env })).stdout) as {
      readonly attempts?: readonly AttemptView[]
      readonly data?: readonly AttemptView[]
    }
    expect((json.attempts ?? json.data)!.map(({ traceId }) => traceId)).toEqual(traces.toReversed())
  }
})
