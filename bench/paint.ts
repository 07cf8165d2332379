/** The first paint of every page of the dashboard, in a real browser that has nothing cached, over a store with a million entities. */
import { existsSync } from 'node:fs'
import { pino } from 'pino'
import { type Browser, chromium } from 'playwright-core'
import { openSluice, systemClock } from 'sluice'
import { dashboard } from 'sluice/dashboard'
import { idempotencyInMemory, openAccess, openServer } from 'sluice/http'
import { implementations } from './machines.ts'
import { median, scenario } from './scenario.ts'

const pages = {
  overview: '/',
  machines: '/machines',
  machine: '/machines/bench_item/1',
  entities: '/entities?machine=bench_item',
  failed: '/entities?machine=bench_item&state=failed',
  batch: '/entities/1',
  entity: '/entities/2',
  holds: '/holds',
  workers: '/workers',
  submit: '/submit/entity',
} as const

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

await scenario(async (file, quick) => {
  const executablePath = process.env.SLUICE_CHROMIUM ?? places.find((place) => existsSync(place))
  if (!executablePath) throw new Error('Chromium is not installed: npm run services -- browser.')
  const sluice = await openSluice({ store: file, implementations })
  const clock = systemClock()
  await sluice.submit('bench_batch', { count: quick ? 10_000 : 1_000_000 })
  while (!(await sluice.totals()).some(({ name, counts }) => name === 'bench_batch@1' && counts.completed === 1))
    await new Promise((resolve) => setTimeout(resolve, 100))
  const server = await openServer({
    ...{ control: sluice, families: {}, clock, log: pino({ level: 'error' }) },
    access: openAccess({ file: `${file}.tokens.json`, clock }),
    idempotency: idempotencyInMemory(),
    listen: { host: '127.0.0.1', port: 0 },
    dashboard: dashboard({ control: sluice, clock }),
  })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const figures: Record<string, number> = {}
  for (const [name, path] of Object.entries(pages)) {
    const times: number[] = []
    for (let round = 0; round < (quick ? 1 : 5); round += 1) times.push(await firstPaint(browser, server.url + path))
    figures[`paint_${name}_ms`] = median(times)
  }
  figures.paint_slowest_ms = Math.max(...Object.values(figures))
  await browser.close()
  await server.close()
  await sluice.stop()
  return figures
})

/** From the beginning of the navigation until something of the page is to be seen. */
async function firstPaint(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(url)
  await page.locator('main h1').waitFor()
  const paint = await page.waitForFunction(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
  )
  const time = (await paint.jsonValue()) as number
  await context.close()
  return time
}
