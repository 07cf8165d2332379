import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { openBrowser, skip } from './chromium.ts'
import { openServed, type Served } from './served.ts'
import { Visit } from './visit.ts'

const paths = ['/', '/machines', '/machines/walk/1', '/entities', '/holds', '/workers', '/submit/job']

describe('a server that does not answer', { skip, timeout: 300_000 }, () => {
  let browser: Browser
  let served: Served

  before(async () => {
    browser = await openBrowser()
    served = await openServed()
  })
  after(async () => {
    await browser?.close()
    await served?.stop()
  })

  test('after kill -9 every page says so with the age of its figures, and recovers by itself', async () => {
    const visits = await Promise.all(paths.map(() => Visit.open(browser, served.url)))
    const overview = visits[0]!.page
    try {
      for (const [index, visit] of visits.entries()) await visit.goto(paths[index]!)
      await overview.getByText('All is well').waitFor()
      // A connection that was refused is no fault of the page.
      await served.kill()
      for (const [index, { page }] of visits.entries()) {
        const note = page.locator('.silence')
        await note.waitFor({ timeout: 30_000 })
        assert.match(
          await note.innerText(),
          /The server has not answered since \d\d:\d\d:\d\d\.\s+What you see is \d+ (ms|s|min) .*old/,
          paths[index],
        )
      }
      await visits[0]!.screenshot('silent')
      assert.equal(await overview.getByText('All is well').count(), 0, 'stale figures are no good news')
      const age = async () => Number.parseFloat(await overview.locator('.silence .age').innerText())
      const first = await age()
      await overview.waitForFunction(
        (before) => Number.parseFloat(document.querySelector('.silence .age')?.textContent ?? '0') > before + 2,
        first,
      )
      await served.restart()
      for (const { page } of visits) await page.locator('.silence').waitFor({ state: 'detached' })
      await overview.getByText('All is well').waitFor()
      await overview.getByRole('button', { name: 'Live' }).waitFor()
    } finally {
      for (const visit of visits) await visit.close()
    }
  })

  test('the chart shows a gap, not zeros, for the time in which nothing was heard', async () => {
    const visit = await Visit.open(browser, served.url)
    const { page } = visit
    try {
      await visit.goto('/')
      await page.locator('.plot canvas').waitFor()
      await page.getByRole('button', { name: 'Live' }).waitFor()
      await served.kill()
      await page.locator('.silence').waitFor()
      // The average of ten seconds is not known once all of them are without news.
      await page.locator('.card', { hasText: 'Moves per second' }).locator('.aside b', { hasText: '–' }).waitFor()
      await served.restart()
      await page.locator('.silence').waitFor({ state: 'detached' })
    } finally {
      await visit.close()
    }
  })

  test('a server that hangs without closing its connections is noticed too', async () => {
    const visit = await Visit.open(browser, served.url)
    const { page } = visit
    try {
      await visit.goto('/')
      await page.getByRole('button', { name: 'Live' }).waitFor()
      served.signal('SIGSTOP')
      await page.locator('.silence').waitFor({ timeout: 40_000 })
      served.signal('SIGCONT')
      await page.locator('.silence').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Live' }).waitFor()
    } finally {
      served.signal('SIGCONT')
      await visit.close()
    }
  })
})
