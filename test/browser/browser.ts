import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium as driver, type Page, type Request } from 'playwright-core'
import { launchOptions } from '../../build/chromium.js'
import { ROOT } from '../support/tree.js'

/** The theme and size of the visitor's screen. */
export interface Look {
  readonly theme: 'light' | 'dark'
  readonly width: 1440 | 390
}

export const LIGHT_WIDE: Look = { theme: 'light', width: 1440 }
export const DARK_PHONE: Look = { theme: 'dark', width: 390 }

/** Screenshots are for people, and no test compares them: only `npm run test:long` takes them. */
const IS_LONG = process.env['CHRONOS_BROWSER'] === 'all'
const ARTIFACTS = join(ROOT, 'test', 'browser', '.artifacts')
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
const HEIGHTS = { 1440: 900, 390: 844 } as const

let running: Promise<Browser> | undefined

/**
 * The browser of this process. All of its files share it, because each visitor has a context of its own; the driver ends
 * it with the process.
 */
export function chromium(): Promise<Browser> {
  running ??= launch()
  return running
}

async function launch(): Promise<Browser> {
  const browser = await driver.launch(await launchOptions())
  return browser.once('disconnected', () => {
    running = undefined
  })
}

/** A visitor of the dashboard, with the errors of the visit. */
export class Visitor implements AsyncDisposable {
  readonly page: Page
  readonly look: Look
  /** Errors that the browser reported: scripts, console, content security policy and requests. */
  readonly troubles: string[] = []
  readonly #context: BrowserContext
  /** The requests of the page without a response yet. */
  readonly #asked = new Set<Request>()
  #whenAnswered: (() => void) | undefined

  private constructor(context: BrowserContext, page: Page, look: Look) {
    this.#context = context
    this.page = page
    this.look = look
    page.on('console', message => {
      if (message.type() === 'error' || message.type() === 'warning') this.troubles.push(`console: ${message.text()}`)
    })
    page.on('pageerror', error => this.troubles.push(`script: ${error.stack ?? error.message}`))
    page.on('dialog', dialog => {
      this.troubles.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('response', response => {
      if (response.status() >= 500) this.troubles.push(`${response.status()}: ${response.url()}`)
    })
    // The event stream never ends.
    page.on('request', request => request.resourceType() !== 'eventsource' && this.#asked.add(request))
    page.on('requestfinished', request => this.#answer(request))
    page.on('requestfailed', request => this.#answer(request))
  }

  #answer(request: Request): void {
    this.#asked.delete(request)
    if (this.#asked.size === 0) this.#whenAnswered?.()
  }

  static async at(url: string, look: Look = LIGHT_WIDE): Promise<Visitor> {
    const browser = await chromium()
    const context = await browser.newContext({
      baseURL: url,
      viewport: { width: look.width, height: HEIGHTS[look.width] },
      colorScheme: look.theme,
      locale: 'en-US',
      reducedMotion: 'reduce',
    })
    // Only a hanging page takes that long, on any machine.
    context.setDefaultTimeout(120_000)
    return new Visitor(context, await context.newPage(), look)
  }

  /** Gets the cookie of a session, as the sign-in page does. */
  async signIn(token: string): Promise<void> {
    const response = await this.page.request.post('api/v1/session', { data: { token } })
    if (!response.ok()) throw new Error(`sign-in: ${response.status()} ${await response.text()}`)
  }

  /** Opens a path of the dashboard and waits until all of its requests are answered. */
  async open(path: string): Promise<void> {
    // Requests of the previous page no longer matter.
    this.#asked.clear()
    await this.page.goto(path.replace(/^\//, ''))
    await this.settled()
  }

  /** Opens another path as a link does, without loading the page again. */
  async turn(path: string): Promise<void> {
    if (this.page.url() === 'about:blank') {
      await this.open(path)
      return
    }
    await this.page.evaluate(to => {
      window.history.pushState(null, '', to)
      window.dispatchEvent(new PopStateEvent('popstate'))
    }, path)
    await this.settled()
  }

  /** Resolves when no request is in flight and the page says that it has drawn every answer, because a response may cause more requests. */
  async settled(): Promise<void> {
    await this.page.locator('main').waitFor()
    do {
      await this.#answered()
      await this.page.waitForFunction(isComplete)
      await this.page.evaluate(twoFrames)
    } while (this.#asked.size > 0 || !(await this.page.evaluate(isComplete)))
  }

  async #answered(): Promise<void> {
    if (this.#asked.size === 0) return
    await new Promise<void>(resolve => {
      this.#whenAnswered = resolve
    })
  }

  async screenshot(name: string): Promise<void> {
    if (!IS_LONG) return
    await mkdir(ARTIFACTS, { recursive: true })
    const { theme, width } = this.look
    await this.page.screenshot({ path: join(ARTIFACTS, `${name}-${theme}-${width}.png`), fullPage: true })
  }

  /** The serious and critical findings of axe-core on this page, as text. */
  async barriers(): Promise<readonly string[]> {
    if (!(await this.page.evaluate(() => 'axe' in globalThis))) await this.page.evaluate(await axe())
    return this.page.evaluate(async runOnly => {
      const { axe } = globalThis as unknown as { axe: Axe }
      const { violations } = await axe.run(document, { resultTypes: ['violations'], runOnly })
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
    }, WCAG)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
  }
}

interface Axe {
  run(
    where: Document,
    options: object,
  ): Promise<{
    readonly violations: readonly {
      readonly id: string
      readonly impact: string | null
      readonly help: string
      readonly nodes: readonly { readonly html: string }[]
    }[]
  }>
}

/** The page is busy from the render that first needs an answer until the answer is drawn. */
function isComplete(): boolean {
  const main = document.querySelector('main')
  return main !== null && main.textContent !== '' && document.querySelector('[aria-busy="true"]') === null
}

/** Components render in the first frame, and the second frame shows the result. */
function twoFrames(): Promise<unknown> {
  return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
}

let axeText: Promise<string> | undefined

/** The script is injected through the debugger, because the content security policy of the page allows only its own. */
function axe(): Promise<string> {
  axeText ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  return axeText
}
