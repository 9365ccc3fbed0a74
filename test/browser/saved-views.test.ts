import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SavedView } from '../../src/core/saved-view/saved-view.js'
import type { TestServer } from '../server/server.js'
import { Visitor } from './browser.js'
import { emptyWorld } from './world.js'

let t: TestServer

beforeAll(async () => {
  t = await emptyWorld({ maintenance: false })
  await t.chronos.enqueue('mail', {}, { queue: 'mail', delay: '1h' })
  await t.chronos.enqueue('bill', {}, { queue: 'payments', delay: '1h' })
})

afterAll(async () => {
  await t?.[Symbol.asyncDispose]()
})

const saved = async (): Promise<readonly SavedView[]> =>
  (await t.api<{ data: readonly SavedView[] }>('GET', '/saved-views')).body.data

it('saves the filter of a list under a name, opens it again and deletes it', async () => {
  await using visitor = await Visitor.at(t.url)
  const { page } = visitor
  const menu = page.getByRole('button', { name: 'Saved views' })
  const dialog = page.getByRole('dialog')
  await visitor.open('/jobs?queue=payments&range=24h')
  await menu.click()
  await page.getByRole('menuitem', { name: 'Save or delete views …' }).click()
  expect(await dialog.getByRole('button', { name: 'Save view' }).isDisabled()).toBe(true)
  await dialog.getByLabel('Name').fill('Payments today')
  expect(await visitor.barriers()).toEqual([])
  await visitor.screenshot('saved-views')
  await dialog.getByLabel('Name').press('Enter')
  await dialog.waitFor({ state: 'detached' })
  expect(await saved()).toMatchObject([{ name: 'Payments today', screen: 'jobs', query: 'queue=payments&range=24h' }])

  await visitor.turn('/jobs')
  await page.getByText('2 of 2 jobs').waitFor()
  await menu.click()
  await page.getByRole('menuitemradio', { name: /Payments today/ }).click()
  await page.getByText('1 of 1 job').waitFor()
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ queue: 'payments', range: '24h' })

  await visitor.turn('/dead')
  await menu.click()
  expect(await page.getByRole('menuitemradio').count()).toBe(0)

  await visitor.turn('/jobs?queue=payments')
  await menu.click()
  await page.getByRole('menuitem', { name: 'Save or delete views …' }).click()
  await dialog.getByRole('button', { name: 'Delete Payments today' }).click()
  await page.getByRole('status').getByText('View Payments today deleted').waitFor({ state: 'attached' })
  expect(await saved()).toEqual([])
  expect(visitor.troubles).toEqual([])
})
