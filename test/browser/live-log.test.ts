import { afterAll, beforeAll, expect, it } from 'vitest'
import { defineJob } from '../../src/index.js'
import type { TestServer } from '../server/server.js'
import { Visitor } from './browser.js'
import { emptyWorld } from './world.js'

let t: TestServer

beforeAll(async () => {
  t = await emptyWorld({ maintenance: false })
})

afterAll(async () => {
  await t?.[Symbol.asyncDispose]()
})

it('shows the log of a running job as it is written, and after its end', async () => {
  const steps: (() => void)[] = []
  const step = (): Promise<void> => new Promise(resolve => steps.push(resolve))
  const convert = defineJob({
    name: 'convert',
    async run(_file: string, job) {
      job.log('began', { page: 1 })
      await step()
      job.log('half done')
      await step()
    },
  })
  const { id } = await t.chronos.enqueue(convert, 'a.pdf')
  t.chronos.work([convert], { signals: false })
  await using visitor = await Visitor.at(t.url)
  const { page } = visitor
  await visitor.open(`/jobs/${id}`)
  const log = page.getByRole('log', { name: 'Log of the current run' })
  await log.getByText('began').waitFor()
  expect(await log.getByText('half done').count()).toBe(0)
  steps.shift()!()
  await log.getByText('half done').waitFor()
  expect(await visitor.barriers()).toEqual([])
  await visitor.screenshot('live-log')
  const stored = await t.chronos.jobs.logs(id)
  expect(await log.getByRole('listitem').count()).toBe(stored.data.length)
  steps.shift()!()
  await log.waitFor({ state: 'detached' })
  await page.locator('.attempt.is-open').getByText('half done').waitFor()
  expect(visitor.troubles).toEqual([])
})
