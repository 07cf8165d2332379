import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { systemClock } from 'sluice'
import { openAccess } from '../../src/http/index.ts'
import { openBrowser, skip } from './chromium.ts'
import { openServed, type Served } from './served.ts'
import { Visit } from './visit.ts'

/** Items as the upload family takes them; every third is of a type that nobody knows. */
function items(count: number, first: number, badEvery = 3): Buffer {
  const all = Array.from({ length: count }, (_, index) => ({
    id: first + index,
    type: index % badEvery === 0 ? 'mystery' : 'story',
    by: 'ada',
    time: 1_700_000_000 + index,
    title: `Story ${first + index}`,
    url: 'https://example.org/',
  }))
  return Buffer.from(JSON.stringify(all))
}

const hostile = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

describe('the dashboard in a real browser', { skip, timeout: 300_000 }, () => {
  let browser: Browser
  let served: Served
  let visit: Visit
  let batch = 0

  before(async () => {
    browser = await openBrowser()
    served = await openServed({ words: ['--machines', fileURLToPath(new URL('./machines.ts', import.meta.url))] })
    visit = await Visit.open(browser, served.url)
  })
  after(async () => {
    await browser?.close()
    await served?.stop()
  })

  async function upload(name: string, content: Buffer, collection: string): Promise<number> {
    const { page } = visit
    await visit.goto('/submit/upload')
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/json', buffer: content })
    await page.locator('input[name=collection]').fill(collection)
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    return visit.entityId()
  }

  async function confirm(button: string, reason: string, verb = button): Promise<void> {
    const { page } = visit
    await page.getByRole('button', { name: button, exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input[name=reason]').fill(reason)
    await dialog.getByRole('button', { name: verb }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  test('an empty store offers samples', async () => {
    await visit.goto('/')
    await visit.page.getByRole('button', { name: 'Create samples' }).waitFor()
    await visit.screenshot('empty')
  })

  test('a file with bad items is uploaded, and its end is seen without reloading', async () => {
    batch = await upload('stories.json', items(300, 1), 'press')
    await visit.state('partially completed')
    await visit.page.locator('.legend', { hasText: '100 failed' }).first().waitFor()
    await visit.page.locator('.legend', { hasText: '200 completed' }).first().waitFor()
    await visit.screenshot('batch')
  })

  test('every count leads to what it counts: the failures, by their reason', async () => {
    const { page } = visit
    await page.locator('.card', { hasText: 'Why children failed' }).getByRole('link', { name: 'unknown type' }).click()
    await page.waitForURL(/reason=unknown/)
    await page.locator('tbody tr').first().waitFor()
    assert.equal(await page.locator('tbody tr').count(), 50)
    await page.getByRole('link', { name: 'Next 50' }).click()
    await page.getByText('This is the last page').waitFor()
    assert.equal(await page.locator('tbody tr').count(), 50)
    await visit.screenshot('failures')
    await page.locator('tbody a').first().click()
    await visit.entityId()
    await page.locator('.timeline').waitFor()
    // The error stands first, with the text that it speaks of.
    const failure = page.locator('.failure')
    await failure.getByRole('heading', { name: 'Failed: unknown type' }).waitFor()
    await failure.locator('.input', { hasText: '"type":"mystery"' }).waitFor()
    assert.match(await failure.locator('figcaption').innerText(), /^Item \d+ of stories.json, bytes [\d,]+ to [\d,]+$/)
    await visit.screenshot('entity')
  })

  test('a report is figures that lead to exactly what they count; its JSON is one click away', async () => {
    const { page } = visit
    await visit.goto(`/entities/${batch}`)
    const report = page.locator('.report')
    await report.locator('.numbers > div', { hasText: 'Failed' }).getByRole('link', { name: '100' }).waitFor()
    assert.equal(await report.locator('pre').isVisible(), false)
    await report.getByText('As JSON').click()
    await report.locator('pre', { hasText: '"failed": 100' }).waitFor()
    await report.locator('.numbers > div', { hasText: 'Completed' }).getByRole('link', { name: '200' }).click()
    await page.waitForURL(new RegExp(`parent=${batch}&state=completed`))
    await page.locator('tbody tr').first().waitFor()
    assert.deepEqual([...new Set(await page.locator('tbody .badge').allTextContents())], ['completed'])
  })

  test('what failed is retried, with a reason that stays in the history', async () => {
    const { page } = visit
    await visit.goto(`/entities/${batch}`)
    await confirm('Retry failed items', 'The supplier promised')
    await page.locator('.timeline', { hasText: '“The supplier promised”' }).waitFor()
    await page.locator('.timeline li', { hasText: 'partial_completion' }).nth(1).waitFor()
    await visit.state('partially completed')
  })

  test('a collection is held: what comes in waits and says why; released, it goes on', async () => {
    const { page } = visit
    await visit.goto('/holds')
    await page.locator('input[name=value]').fill('press')
    await page.locator('main form input[name=reason]').fill('Waiting for the rights office')
    await page.getByRole('button', { name: 'Hold', exact: true }).click()
    await page.getByText('collection is press').waitFor()
    await visit.screenshot('holds')
    const held = await upload('more.json', items(20, 10_000, 50), 'press')
    await page.locator('.callout.hold', { hasText: 'Waiting for the rights office' }).waitFor()
    await visit.screenshot('held')
    await visit.goto('/holds')
    await confirm('Release', 'The rights are cleared')
    await page.getByText('Nothing is held.').waitFor()
    await visit.goto(`/entities/${held}`)
    await visit.state('partially completed')
  })

  test('a job is started from a form made of its schema, and cancelled', async () => {
    const { page } = visit
    await visit.goto('/submit/job?definition=patience%401')
    await page.locator('input[name=what]').fill('a needle')
    await page.locator('input[name=places]').fill('0')
    await page.locator('main form').evaluate((form) => ((form as HTMLFormElement).noValidate = true))
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'places' }).waitFor()
    await page.locator('input[name=places]').fill('4')
    await visit.screenshot('submit-job')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await visit.entityId()
    await page.locator('.legend', { hasText: '4 poll waiting' }).first().waitFor()
    await confirm('Cancel', 'Enough')
    await visit.state('cancelled')
    await visit.screenshot('job')
  })

  test('one action on many: counted, confirmed, and its result by verdict', async () => {
    const { page } = visit
    await visit.goto(`/entities?machine=upload_item&state=failed&parent=${batch}`)
    await page.getByRole('button', { name: 'Retry processing all' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('.count', { hasText: '100' }).waitFor()
    await visit.screenshot('act-on-many')
    await dialog.locator('input[name=reason]').fill('Once more, all of them')
    await dialog.getByRole('button', { name: 'Retry processing 100' }).click()
    await visit.entityId()
    await visit.state('completed')
    await page.locator('.numbers', { hasText: 'Asked of' }).getByText('100').first().waitFor()
    await visit.screenshot('walk')
  })

  test('a filter on a batch leaves the reader where he is', async () => {
    const { page } = visit
    await visit.goto(`/entities/${batch}`)
    const chip = page.locator('.chips .chip', { hasText: 'failed' })
    await chip.scrollIntoViewIfNeeded()
    await page.evaluate(() => scrollBy(0, 200))
    const before = await page.evaluate(() => scrollY)
    assert.ok(before > 0)
    await chip.click()
    await page.waitForURL(/state=failed/)
    await page.locator('.chip[aria-current=true]', { hasText: 'failed' }).waitFor()
    assert.equal(await page.evaluate(() => scrollY), before)
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(await page.evaluate(() => scrollY), 0)
  })

  test('a dialog names what it acts on and has one way back; no reason is quoted that nobody gave', async () => {
    const { page } = visit
    const id = await upload('nameless.json', items(3, 40_000), 'names')
    await visit.state('partially completed')
    await page.getByRole('button', { name: 'Retry failed items', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: `Retry failed items: nameless.json #${id}` }).waitFor()
    assert.deepEqual(await dialog.getByRole('button').allTextContents(), ['Retry failed items', 'Back'])
    await dialog.getByRole('button', { name: 'Retry failed items' }).click()
    await page.locator('.timeline', { hasText: 'retry_failed_items' }).waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /none given/)
  })

  test('an unknown address shows the page that says so, with the status of one', async () => {
    const { page } = visit
    const response = await page.goto(`${served.url}/no/such/place`)
    assert.equal(response?.status(), 404)
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    await page.getByText('/no/such/place').waitFor()
    await page.getByRole('link', { name: 'Entities' }).first().click()
    await page.getByRole('heading', { name: 'Entities' }).waitFor()
    for (const path of ['/api/no/such/place', '/no/such/place']) {
      const program = await fetch(`${served.url}${path}`, { headers: { accept: 'application/json' } })
      assert.equal(program.status, 404)
      assert.match(program.headers.get('content-type') ?? '', /problem\+json/)
    }
  })

  test('a filter that cannot be is refused where it is typed', async () => {
    const { page } = visit
    await visit.goto('/entities')
    const parent = page.getByLabel('Parent')
    await parent.fill('twelve')
    await parent.press('Enter')
    assert.match(await parent.evaluate((input) => (input as HTMLInputElement).validationMessage), /number of an entity/)
    assert.doesNotMatch(page.url(), /parent/)
    await parent.fill('none')
    await parent.press('Tab')
    await page.waitForURL(/parent=none/)
    // An address may hold anything all the same: one sentence, and no empty table below it.
    await visit.goto('/entities?parent=twelve')
    await page.getByRole('alert').waitFor()
    assert.equal(await page.locator('main .card').count(), 0)
    assert.equal(await page.locator('[role=alert] li').count(), 0)
  })

  test('only what can be submitted is offered, by a form where the schema is known', async () => {
    const { page } = visit
    await visit.goto('/submit')
    assert.deepEqual(await page.locator('.tabs a').allTextContents(), ['Upload a file', 'Start a job', 'Your machines'])
    await visit.goto('/submit/entity')
    assert.deepEqual(await page.locator('select[name=machine] option').allTextContents(), ['Letter'])
    await page.locator('input[name=address], textarea[name=address]').fill('"Canal Street"')
    await page.getByRole('button', { name: 'Submit', exact: true }).click()
    await visit.entityId()
    await visit.state('written')
  })

  test('one entity is held, released and given a priority on its own page', async () => {
    const { page } = visit
    await visit.goto('/submit/job?definition=patience%401')
    await page.locator('input[name=what]').fill('a pin')
    await page.locator('input[name=places]').fill('2')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    const id = await visit.entityId()
    await page.locator('.legend', { hasText: '2 poll waiting' }).first().waitFor()
    await page.getByRole('button', { name: 'Priority…' }).click()
    await page.locator('dialog input[name=priority]').fill('7')
    await page.getByRole('dialog').getByRole('button', { name: 'Set priority' }).click()
    await page.locator('dl.facts', { hasText: 'Priority7' }).waitFor()
    await page.getByRole('button', { name: 'Hold…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: `Hold patience #${id}` }).waitFor()
    await dialog.locator('input[name=reason]').fill('Ask the owner first')
    await dialog.getByRole('button', { name: 'Hold', exact: true }).click()
    const note = page.locator('.callout.hold', { hasText: 'Ask the owner first' })
    await note.waitFor()
    await visit.screenshot('held-job')
    await confirm((await note.getByRole('button').innerText()).trim(), 'Asked', 'Release')
    await note.waitFor({ state: 'detached' })
    await confirm('Cancel', 'Enough')
    await visit.state('cancelled')
    await visit.goto('/holds')
    await page.locator('.card', { hasText: 'Ended' }).getByText('released by local: Asked').waitFor()
  })

  test('an entity is found by its number or its key, from any page', async () => {
    const { page } = visit
    const made = await fetch(`${served.url}/api/entities`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ machine: 'letter', data: { address: null }, key: 'order 66/b' }),
    })
    const { id } = (await made.json()) as { readonly id: number }
    const box = page.getByRole('searchbox', { name: 'Number or key of an entity' })
    for (const [typed, from] of [
      [String(id), '/workers'],
      [`#${id}`, '/'],
      ['order 66/b', '/holds'],
    ] as const) {
      await visit.goto(from)
      await page.keyboard.press('/')
      await box.fill(typed)
      await page.keyboard.press('Enter')
      assert.equal(await visit.entityId(), id, typed)
    }
    await box.fill('no such key')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing has the number or key “no such key”.').waitFor()
  })

  test('by keyboard alone', async () => {
    const { page } = visit
    const id = await upload('keys.json', items(6, 20_000), 'keys')
    await visit.state('partially completed')
    await visit.goto(`/entities/${id}`)
    await page.keyboard.press('Tab')
    await visit.focusOn('Skip to the page')
    await page.keyboard.press('Enter')
    for (let presses = 0; presses < 40 && (await visit.focus()) !== 'Retry failed items'; presses += 1)
      await page.keyboard.press('Tab')
    await visit.focusOn('Retry failed items')
    const dialog = page.getByRole('dialog')
    // On a busy machine a key may be pressed in the moment in which the page is drawn anew: a person presses again.
    const opens = async (press: () => Promise<void>) => {
      for (let presses = 0; presses < 3; presses += 1) {
        await press()
        const isOpen = dialog.waitFor({ timeout: 5_000 }).then(
          () => true,
          () => false,
        )
        if (await isOpen) return
        await page.keyboard.up('Enter')
        await visit.focusOn('Retry failed items')
      }
      assert.fail('Enter opens no dialog')
    }
    await opens(() => page.keyboard.press('Enter'))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // The focus is given back.
    await visit.focusOn('Retry failed items')
    // The key that opens a dialog does not confirm it too, however long it is held down.
    await opens(() => page.keyboard.down('Enter'))
    for (let times = 0; times < 5; times += 1) await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    assert.equal(await page.getByRole('dialog').count(), 1)
    await page.keyboard.type('By hand')
    await page.keyboard.press('Enter')
    await page.locator('.timeline', { hasText: '“By hand”' }).waitFor()
  })

  test('names that are markup are text', async () => {
    const { page } = visit
    const id = await upload(`${hostile}.json`.replaceAll('/', ''), items(3, 30_000), hostile)
    await visit.state('partially completed')
    await page.getByText('onerror').first().waitFor()
    for (const path of [
      '/',
      '/entities',
      `/entities/${id}`,
      `/entities?parent=${id}`,
      `/entities?reason=${encodeURIComponent(hostile)}`,
      `/machines/${encodeURIComponent(hostile)}/1`,
      `/submit/${encodeURIComponent(hostile)}`,
    ]) {
      await visit.goto(path)
      assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined, path)
      assert.equal(await page.locator('img').count(), 0, path)
    }
    const faults = await page.evaluate(
      async () => (await fetch('/api/entities/1/actions/none', { method: 'POST' })).status,
    )
    assert.ok(faults >= 400)
  })

  test('the refresh can be paused; a theme is kept', async () => {
    const { page } = visit
    // Again and again: the connection may be answered before or after the page begins to listen.
    for (let times = 0; times < 10; times += 1) {
      await visit.goto(times % 2 === 0 ? '/' : '/holds')
      await page.getByRole('button', { name: 'Live' }).waitFor()
    }
    await page.getByRole('button', { name: 'Live' }).click()
    await page.getByRole('button', { name: 'Paused' }).click()
    await page.getByRole('button', { name: 'Live' }).waitFor()
    await page.getByRole('button', { name: 'Dark' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Light' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
    await page.getByRole('button', { name: 'Light' }).click()
  })

  test('no page complained', () => visit.assertCalm())

  const pages: readonly (readonly [name: string, path: () => string])[] = [
    ['overview', () => '/'],
    ['machines', () => '/machines'],
    ['machine', () => '/machines/upload_batch/1'],
    ['child-machine', () => `/machines/upload_item/1?parent=${batch}`],
    ['entities', () => '/entities?machine=upload_batch'],
    ['batch-page', () => `/entities/${batch}`],
    ['holds-page', () => '/holds'],
    ['workers', () => '/workers'],
    ['submit-upload', () => '/submit/upload'],
    ['submit-job-page', () => '/submit/job'],
    ['submit-entity', () => '/submit/entity'],
    ['not-found', () => '/entities/999999'],
  ]
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`axe finds no fault on any page, ${colorScheme}`, async () => {
      const looking = await Visit.open(browser, served.url, { colorScheme, reducedMotion: 'reduce' })
      const faults: string[] = []
      for (const [name, path] of pages) {
        await looking.goto(path())
        await looking.screenshot(`${name}-${colorScheme}`)
        faults.push(...(await looking.faults()).map((fault) => `${name}: ${fault}`))
      }
      looking.assertCalm()
      await looking.close()
      assert.deepEqual(faults, [])
    })
  }

  test('no page is wider than a narrow screen', async () => {
    const looking = await Visit.open(browser, served.url, {
      viewport: { width: 375, height: 720 },
      reducedMotion: 'reduce',
    })
    const wide: string[] = []
    for (const [name, path] of pages) {
      await looking.goto(path())
      await looking.screenshot(`${name}-narrow`)
      const width = await looking.page.evaluate(() => document.documentElement.scrollWidth)
      if (width > 375) wide.push(`${name}: ${width}`)
    }
    await looking.close()
    assert.deepEqual(wide, [])
  })
})

describe('with tokens', { skip, timeout: 120_000 }, () => {
  test('a stranger sees nothing until he logs in; a submitter is offered no actions', async () => {
    let secret = ''
    const served = await openServed({
      async prepare(folder) {
        await mkdir(join(folder, 'sluice-server'), { recursive: true, mode: 0o700 })
        const access = openAccess({ file: join(folder, 'sluice-server', 'tokens.json'), clock: systemClock() })
        secret = (await access.create({ name: 'ada', role: 'submitter', collections: ['press'], createdBy: 'test' }))
          .secret
      },
    })
    const browser = await openBrowser()
    try {
      const visit = await Visit.open(browser, served.url)
      const { page } = visit
      await visit.goto('/holds')
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      await visit.screenshot('log-in')
      assert.deepEqual(await visit.faults(), [])
      await page.locator('input[name=token]').fill('slc_wrong')
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('alert').filter({ hasText: 'This token is not valid here' }).waitFor()
      const card = await page.locator('.centre .card').boundingBox()
      const middle = (page.viewportSize()?.width ?? 0) / 2
      assert.ok(card && Math.abs(card.x + card.width / 2 - middle) < 2, 'the card stands in the middle')
      await page.locator('input[name=token]').fill(secret)
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('heading', { name: 'Holds' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Hold', exact: true }).count(), 0)
      assert.match(await page.locator('.who').innerText(), /ada, submitter of press/)
      // Samples need an operator: a submitter is not offered what would be refused.
      await visit.goto('/')
      await page.getByText('Nothing has been submitted yet.').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Create samples' }).count(), 0)
      await visit.goto('/submit/upload')
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'mine.json', mimeType: 'application/json', buffer: items(9, 1) })
      await page.getByRole('button', { name: 'Upload', exact: true }).click()
      await visit.entityId()
      await visit.state('partially completed')
      assert.equal(await page.getByRole('button', { name: 'Retry failed items' }).count(), 0)
      await page.getByRole('link', { name: 'log out' }).click()
      await page.getByRole('heading', { name: 'Log in' }).waitFor()
      assert.deepEqual(await page.context().cookies(), [])
      visit.assertCalm()
    } finally {
      await browser.close()
      await served.stop()
    }
  })
})
