import { describe, expect, it } from 'vitest'
import { isSafe, loadDriver } from '../../../src/store/sqlite/file/driver.js'

describe('the SQLite driver', () => {
  it.each([
    ['3.44.5', false],
    ['3.44.6', true],
    ['3.45.1', false],
    ['3.50.6', false],
    ['3.50.7', true],
    ['3.51.2', false],
    ['3.51.3', true],
    ['3.52.0', true],
    ['3.53.4', true],
    ['4.0.0', true],
    ['2.8.17', false],
  ])('version %s is safe for several writers: %s', (version, safe) => {
    expect(isSafe(version)).toBe(safe)
  })

  it('is available, is safe, and is loaded once', async () => {
    const driver = await loadDriver()
    expect(isSafe(driver.version)).toBe(true)
    expect(await loadDriver()).toBe(driver)
  })
})
