import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pages, titleOf } from '../../site/pages.js'
import { ROOT } from '../support/tree.js'
import { chromium } from './browser.js'

/** The site is built by `npm run test:docs`, which needs packages that `npm ci` does not install. */
if (process.env['CHRONOS_SITE'] === 'built') {
  describe('the built site', () => {
    it('shows every page without errors, in both themes, and finds what is searched', async () => {
      await using site = await serve(join(ROOT, 'site', 'dist'))
      const browser = await chromium()
      const troubles: string[] = []
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 800 } })
        page.on('pageerror', error => troubles.push(error.message))
        page.on('response', response => response.status() >= 400 && troubles.push(response.url()))
        for (const [path, text] of pages()) {
          await page.goto(`${site.url}/${path.replace(/\.md$/, '')}`)
          expect(await page.locator('h1').first().textContent()).toContain(titleOf(text).replaceAll('`', ''))
        }
        expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(
          colorScheme === 'dark',
        )
        await page.keyboard.press('Control+k')
        await page.keyboard.type('decorrelated')
        const found = page.locator('.VPLocalSearchBox a.result[href*="/retries#"]').first()
        await found.click()
        await page.locator('h1', { hasText: 'Retries' }).waitFor()
        await page.close()
      }
      expect(troubles).toEqual([])
    })
  })
} else {
  it('is not run here: npm run test:docs builds the site and opens it', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    expect(scripts['test:docs']).toContain('npm run docs && CHRONOS_SITE=built vitest run test/browser/site.test.ts')
    console.log('not run: the built site in a browser; npm run test:docs builds it')
  })
}

async function serve(folder: string): Promise<AsyncDisposable & { readonly url: string }> {
  const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css', png: 'image/png' }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)
    const file = [path, `${path}.html`, `${path}index.html`].map(each => join(folder, each)).find(isFile)
    if (file === undefined) return response.writeHead(404).end()
    return response
      .writeHead(200, { 'content-type': types[file.split('.').pop()!] ?? 'text/plain' })
      .end(readFileSync(file))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && /\.\w+$/.test(path)
}
