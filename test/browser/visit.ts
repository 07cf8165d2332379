import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

const screenshots = fileURLToPath(new URL('./screenshots/', import.meta.url))
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** One window of the browser. Whatever it complains about is an error: a script that was refused, a request that failed. */
export class Visit {
  readonly page: Page
  readonly #complaints: string[] = []
  readonly #base: string

  private constructor(page: Page, base: string) {
    this.page = page
    this.#base = base
    page.setDefaultTimeout(30_000)
    page.on('pageerror', (error) => this.#complaints.push(error.message))
    page.on('console', (message) => {
      // The browser itself notes every answer of 400 and above; those are tested where they belong.
      if (message.type() === 'error' && !/^Failed to load resource/.test(message.text()))
        this.#complaints.push(message.text())
    })
    page.on('dialog', (dialog) => {
      this.#complaints.push(`A dialog of the browser: ${dialog.message()}`)
      void dialog.dismiss()
    })
  }

  static async open(browser: Browser, base: string, options: BrowserContextOptions = {}): Promise<Visit> {
    const context = await browser.newContext({ viewport: { width: 1_360, height: 860 }, ...options })
    return new Visit(await context.newPage(), base)
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(this.#base + path)
    await this.page.locator('main h1').waitFor()
    await this.loaded()
  }

  /** Nothing is a grey box any more. */
  async loaded(): Promise<void> {
    await this.page.waitForFunction(() => document.querySelector('.skeleton') === null)
  }

  /** The id of the entity whose page this is. */
  async entityId(): Promise<number> {
    await this.page.waitForURL(/\/entities\/\d+$/)
    return Number(/(\d+)$/.exec(this.page.url())?.[1])
  }

  /** Waits until the page itself shows this state: nobody reloads it. */
  async state(text: string): Promise<void> {
    await this.page.locator('.head .badge', { hasText: new RegExp(`^${text}$`) }).waitFor({ timeout: 60_000 })
  }

  /** The words of what has the focus. */
  focus(): Promise<string | null> {
    return this.page.evaluate(() => document.activeElement?.textContent ?? null)
  }

  /** Waits until it has the focus; if it never does, says what had, and what could. */
  async focusOn(text: string): Promise<void> {
    for (let looks = 0; looks < 100; looks += 1) {
      if ((await this.focus()) === text) return
      await this.page.waitForTimeout(50)
    }
    const buttons = await this.page.locator('main button').allTextContents()
    assert.fail(
      `“${text}” never had the focus; “${(await this.focus())?.slice(0, 200)}” has. Buttons: ${buttons.join(', ')}`,
    )
  }

  async screenshot(name: string): Promise<void> {
    mkdirSync(screenshots, { recursive: true })
    await this.page.screenshot({ path: `${screenshots}${name}.png`, fullPage: true })
  }

  /** Rules of WCAG 2.2 AA and good practice that are broken. */
  async faults(): Promise<readonly string[]> {
    // Evaluated by the debugger: the page's own policy would refuse a script that is not its own.
    await this.page.evaluate(axe)
    return this.page.evaluate(async () => {
      const { axe: checker } = globalThis as unknown as {
        axe: {
          run(): Promise<{ violations: { id: string; impact: string; help: string; nodes: { html: string }[] }[] }>
        }
      }
      const { violations } = await checker.run()
      return violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 200)}`),
      )
    })
  }

  assertCalm(): void {
    assert.deepEqual(this.#complaints, [])
  }

  async close(): Promise<void> {
    await this.page.context().close()
  }
}
