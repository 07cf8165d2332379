import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { openBrowser, skip } from './chromium.ts'
import { openServed, type Served } from './served.ts'
import { Visit } from './visit.ts'

const machines = fileURLToPath(new URL('./machines.ts', import.meta.url))
const maps = ['/machines/chunked_job/1', '/machines/chunked_chunk/1', '/machines/upload_item/1', '/machines/letter/1']

describe('the live map', { skip, timeout: 300_000 }, () => {
  let browser: Browser
  let served: Served

  before(async () => {
    browser = await openBrowser()
    served = await openServed({ words: ['--machines', machines] })
  })
  after(async () => {
    await browser?.close()
    await served?.stop()
  })

  async function submit(state: string, address: string | null): Promise<number> {
    const response = await fetch(`${served.url}/api/entities`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `k${Math.random()}` },
      body: JSON.stringify({ machine: 'letter', data: { address }, state }),
    })
    assert.equal(response.status, 201, await response.clone().text())
    return ((await response.json()) as { readonly id: number }).id
  }

  test('a hop is drawn as taken when it happens, with the transition that was taken', async () => {
    const visit = await Visit.open(browser, served.url)
    const { page } = visit
    try {
      const id = await submit('written', null)
      await visit.goto(`/entities/${id}`)
      await page.getByRole('button', { name: 'Live' }).waitFor()
      await page.locator('.node.current', { hasText: 'written' }).waitFor()
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
      await page.locator('.node.current', { hasText: 'lost' }).waitFor()
      await page.locator('.edge.visited', { hasText: 'lose' }).waitFor()
      const colours = await page.evaluate(() => {
        const accent = getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()
        const probe = document.createElement('span')
        probe.style.color = accent
        document.body.append(probe)
        const strokes = [...document.querySelectorAll('.edge.visited path:not(.tip, .hit)')].map(
          (path) => getComputedStyle(path).stroke,
        )
        return { accent: getComputedStyle(probe).color, strokes }
      })
      assert.deepEqual(colours.strokes, [colours.accent, colours.accent])
      assert.deepEqual((await page.locator('.edge.visited text').allTextContents()).toSorted(), ['lose', 'send'])
    } finally {
      await visit.close()
    }
  })

  test('rates are right at the first look, and all transitions of an arrow can be read', async () => {
    const visit = await Visit.open(browser, served.url)
    const { page } = visit
    try {
      await visit.goto('/machines/letter/1')
      await page.locator('.edge', { hasText: 'write_off' }).locator('text', { hasText: 'lose' }).waitFor()
      await page.getByRole('button', { name: 'Live' }).waitFor()
      await Promise.all(Array.from({ length: 60 }, () => submit('sent', 'Canal Street 1')))
      const flowing = page.locator('.edge.flowing', { hasText: 'deliver (done)' })
      await flowing.waitFor()
      await page.locator('.node', { hasText: 'delivered' }).locator('.count', { hasText: '60' }).waitFor()
      await page.reload()
      await flowing.waitFor({ timeout: 4_000 })
      const [rate] = await flowing.locator('text').allTextContents()
      // Sixty moves within the last ten seconds are at least six in a second.
      assert.ok(Number.parseFloat(rate ?? '') >= 6, `the rate is ${rate}`)
    } finally {
      await visit.close()
    }
  })

  for (const width of [1_440, 768, 390]) {
    test(`at ${width} px no text of a map is smaller than 10 px, and nothing lies over a name`, async () => {
      const visit = await Visit.open(browser, served.url, { viewport: { width, height: 900 } })
      const { page } = visit
      try {
        for (const path of maps) {
          await visit.goto(path)
          await page.locator('.map svg').waitFor()
          await visit.screenshot(`map-${path.split('/')[2]}-${width}`)
          assert.deepEqual(await smallTexts(page), [], path)
          assert.deepEqual(await coveredNames(page), [], path)
          assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${path} scrolls`)
        }
      } finally {
        await visit.close()
      }
    })
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`arrows and borders of inputs stand out 3:1, ${colorScheme}`, async () => {
      const visit = await Visit.open(browser, served.url, { colorScheme })
      const { page } = visit
      try {
        await visit.goto('/machines/letter/1')
        await page.locator('.map svg').waitFor()
        const arrows = await contrasts(page, '.edge path:not(.tip, .hit)', 'stroke')
        const boxes = await contrasts(page, '.node rect', 'stroke')
        await visit.goto('/entities')
        const inputs = await contrasts(page, '.filters select, .filters input', 'borderTopColor')
        for (const [what, ratios] of Object.entries({ arrows, boxes, inputs })) {
          assert.ok(ratios.length > 0, what)
          assert.ok(Math.min(...ratios) >= 3, `${what}: ${Math.min(...ratios)}`)
        }
      } finally {
        await visit.close()
      }
    })
  }
})

/** Texts whose type is drawn smaller than 10 px. */
function smallTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const svg = document.querySelector('.map svg') as SVGSVGElement
    const scale = svg.getScreenCTM()!.a
    return [...svg.querySelectorAll('text')]
      .map((text) => ({ text: text.textContent, size: Number.parseFloat(getComputedStyle(text).fontSize) * scale }))
      .filter(({ size }) => size < 10)
      .map(({ text, size }) => `${text}: ${size.toFixed(1)} px`)
  })
}

/** Names that reach over the border of their box, or into its dot. */
function coveredNames(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.node')].flatMap((node) => {
      const name = node.querySelector('.name')!.getBoundingClientRect()
      const box = node.querySelector('rect')!.getBoundingClientRect()
      const dot = node.querySelector('.start')?.getBoundingClientRect()
      const isOut = name.left < box.left || name.right > box.right
      const isOver =
        dot !== undefined &&
        name.left < dot.right &&
        name.right > dot.left &&
        name.top < dot.bottom &&
        name.bottom > dot.top
      return isOut || isOver ? [node.querySelector('.name')!.textContent ?? ''] : []
    }),
  )
}

/** How far the colour of each stands out from the card behind it. */
function contrasts(page: Page, selector: string, property: 'stroke' | 'borderTopColor'): Promise<readonly number[]> {
  return page.evaluate(
    ([query, name]) => {
      const luminance = (colour: string) => {
        const parts = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
          const value = Number(part) / 255
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
        })
        return 0.2126 * parts[0]! + 0.7152 * parts[1]! + 0.0722 * parts[2]!
      }
      const surface = luminance(getComputedStyle(document.querySelector('.card')!).backgroundColor)
      return [...document.querySelectorAll(query!)].map((element) => {
        const own = luminance(getComputedStyle(element)[name as 'stroke'])
        return (Math.max(own, surface) + 0.05) / (Math.min(own, surface) + 0.05)
      })
    },
    [selector, property],
  )
}
