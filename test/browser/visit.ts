import type { Page } from 'playwright-core'
import { afterAll } from 'vitest'
import type { TestServer } from '../server/server.js'
import { Visitor } from './browser.js'

export interface Visit<World extends TestServer> {
  readonly t: World
  readonly visitor: Visitor
  readonly page: Page
}

/** A server and its visitor for all tests of a file, closed after the last one. */
export async function visit<World extends TestServer>(start: () => Promise<World>): Promise<Visit<World>> {
  const t = await start()
  afterAll(() => t[Symbol.asyncDispose]())
  const visitor = await Visitor.at(t.url)
  afterAll(() => visitor[Symbol.asyncDispose]())
  return { t, visitor, page: visitor.page }
}
