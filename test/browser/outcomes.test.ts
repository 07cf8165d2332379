import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { openClient } from '../../src/client/index.ts'
import { openBrowser, skip } from './chromium.ts'
import { openServed, type Served } from './served.ts'
import { Visit } from './visit.ts'

const machines = fileURLToPath(new URL('./outcome-machines.ts', import.meta.url))

describe('what is shown follows the declared outcome of a state', { skip, timeout: 120_000 }, () => {
  let browser: Browser
  let served: Served
  let visit: Visit

  before(async () => {
    browser = await openBrowser()
    served = await openServed({ words: ['--machines', machines] })
    const client = openClient({ url: served.url })
    const submit = async (machine: string, ...data: readonly string[]) => {
      const ids = (
        await client.submitMany(
          machine,
          data.map((one) => ({ data: one })),
        )
      ).map(({ id }) => id)
      for (const id of ids) await client.settled(id, 30_000)
      return ids
    }
    await submit('letter', 'good', 'bad', 'bad', 'bad', 'good')
    await submit('alarm', 'good', 'good', 'bad')
    visit = await Visit.open(browser, served.url)
  })
  after(async () => {
    await browser?.close()
    await served?.stop()
  })

  test('"Failed 3" opens exactly three, whatever other machines call their states', async () => {
    const { page } = visit
    await visit.goto('/')
    const tile = page.locator('a.tile', { hasText: 'Failed' })
    await tile.locator('.figure', { hasText: /^3$/ }).waitFor()
    await tile.click()
    await page.waitForURL(/outcome=failure/)
    await page.locator('table tbody tr').first().waitFor()
    await visit.loaded()
    assert.equal(await page.locator('table tbody tr').count(), 3)
    assert.equal(await page.locator('table tbody .badge.bad').count(), 3)
    visit.assertCalm()
  })

  test('what failed or asks for a look stands under "Needs attention"; a success named failed does not', async () => {
    const { page } = visit
    await visit.goto('/')
    const card = page.locator('.card', { hasText: 'Needs attention' })
    await card.locator('li', { hasText: 'rejected' }).first().waitFor()
    const rows = (await card.locator('li').allInnerTexts()).map((text) => text.split(/\s+/).join(' ').toLowerCase())
    assert.deepEqual(rows.toSorted(), ['alarm rejected 1', 'letter rejected 3'])
    visit.assertCalm()
  })
})
