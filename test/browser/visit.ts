import type { Browser, Page } from 'playwright-core'
import { afterAll } from 'vitest'
import type { TestServer } from '../server/server.js'
import { launch, Visitor } from './browser.js'

export interface Visit<World extends TestServer> {
  readonly t: World
  readonly browser: Browser
  readonly visitor: Visitor
  readonly page: Page
}

/** A server and its visitor for all tests of a file, closed after the last one. */
export async function visit<World extends TestServer>(start: () => Promise<World>): Promise<Visit<World>> {
  const [t, browser] = await Promise.all([start(), launch()])
  afterAll(() => t[Symbol.asyncDispose]())
  afterAll(() => browser.close())
  const visitor = await Visitor.at(browser, t.url)
  return { t, browser, visitor, page: visitor.page }
}
