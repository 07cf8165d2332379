import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { type Client, openClient } from 'sluice/client'
import { openBrowser, skip } from './chromium.ts'
import { openServed, type Served } from './served.ts'
import { Visit } from './visit.ts'

const launcher = fileURLToPath(new URL('../../bin/sluice.mjs', import.meta.url))
const machines = fileURLToPath(new URL('./bad-day-machines.ts', import.meta.url))
const strangeJobs = fileURLToPath(new URL('./bad-day-jobs.ts', import.meta.url))
const ways = ['well', 'refused', 'busy', 'slow', 'held', 'asking', 'printing', 'attic'] as const

/**
 * One batch in which everything goes wrong at once. For each trouble the pages and the command line answer: what failed, why, what does
 * it wait for, what can be done now.
 */
describe('the pages on a bad day', { skip, timeout: 300_000 }, () => {
  let browser: Browser
  let served: Served
  let visit: Visit
  let client: Client
  let folder: string
  let tour = 0
  const child = {} as Record<(typeof ways)[number], number>

  /** The command line, asking the same server. */
  function sluice(...words: readonly string[]): Promise<{ readonly out: string; readonly status: number }> {
    return command(...words, '--server', served.url)
  }

  async function command(...words: readonly string[]): Promise<{ readonly out: string; readonly status: number }> {
    const asked = spawn(process.execPath, ['--conditions=sluice-source', launcher, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    for (const stream of [asked.stdout, asked.stderr]) stream.setEncoding('utf8').on('data', (text) => (out += text))
    const [status] = await once(asked, 'close')
    return { out, status: Number(status) }
  }

  /** Both say it: the page of the entity, and `explain`. Lines are broken anywhere in a terminal. */
  async function bothSay(id: number, pattern: RegExp): Promise<void> {
    await visit.goto(`/entities/${id}`)
    await visit.page.locator('.callout').first().waitFor()
    assert.match(await visit.page.locator('main').innerText(), pattern, `the page of ${id}`)
    const { out } = await sluice('explain', String(id))
    assert.match(out.replace(/\s+/g, ' '), pattern, `explain ${id}`)
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-bad-day-'))
    browser = await openBrowser()
    served = await openServed({ words: ['--machines', machines, '--roles', 'desk', '--name', 'desk'] })
    client = openClient({ url: served.url })
    visit = await Visit.open(browser, served.url)
    await client.hold({ label: { name: 'way', value: 'held' } }, { reason: 'The bridge is closed', owner: 'local' })
    ;({ id: tour } = await client.submit('tour', { town: 'Delft', ways: [...ways] }))
    // A worker of its own takes the climb, and dies without a word.
    const begun = join(folder, 'begun')
    const words = ['worker', '--folder', served.folder, '--machines', machines, '--roles', 'attic', '--name', 'climber']
    const climber = spawn(process.execPath, ['--conditions=sluice-source', launcher, ...words], {
      stdio: 'ignore',
      env: { ...process.env, BAD_DAY_BEGUN: begun },
    })
    while (!(await readFile(begun, 'utf8').catch(() => ''))) await new Promise((resolve) => setTimeout(resolve, 50))
    climber.kill('SIGKILL')
    await once(climber, 'close')
    for (;;) {
      const { counts, lanes } = await client.progress(tour)
      if (lanes.length > 0 && counts.made === 1 && counts.refused === 1) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    for (const { id, data } of (await client.list({ parent: tour })).entities) child[(data as { way: 'well' }).way] = id
  })
  after(async () => {
    await browser?.close()
    await served?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('what failed and why: the error stands first, and leads back to all that failed alike', async () => {
    const { page } = visit
    await visit.goto(`/entities/${tour}`)
    const reasons = page.locator('.card', { hasText: 'Why children failed' })
    await reasons.getByRole('link', { name: 'nobody opened' }).click()
    await page.waitForURL(/reason=/)
    const rows = page.getByRole('region', { name: 'Entities' }).locator('tbody tr')
    await rows.first().waitFor()
    assert.equal(await rows.count(), 1)
    await rows.locator('a').first().click()
    await page.locator('.failure', { hasText: 'The door of 4 Canal Street stayed shut.' }).waitFor()
    await bothSay(child.refused, /nobody opened.*4 Canal Street stayed shut/s)
    // What can be done now.
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    assert.match((await sluice('explain', String(child.refused))).out, /try_again/)
    const report = await sluice('report', String(tour))
    assert.match(report.out, /nobody opened/)
  })

  test('what the open children wait for: each trouble by name, what needs a person first', async () => {
    const { page } = visit
    await visit.goto(`/entities/${tour}`)
    await page.getByRole('heading', { name: `Tour of Delft #${tour}` }).waitFor()
    await page.locator('a.entity', { hasText: `attic#${child.attic}` }).waitFor()
    const groups = page.locator('.card', { hasText: 'What its open children wait for' })
    await groups.getByText('The bridge is closed').waitFor()
    const text = await groups.innerText()
    for (const pattern of [
      /No worker serves them.*visit@1 with role printing/s,
      /On hold.*“The bridge is closed”, by local \(hold \d+\)/s,
      /Waiting for a person/,
      /Failed, tried again later.*The line to 7 Canal Street is busy/s,
      /Running/,
    ]) {
      assert.match(text, pattern)
    }
    assert.ok(text.indexOf('No worker') < text.indexOf('Running'))
    await visit.screenshot('bad-day')
    // Two states of one colour can be told apart.
    const looks = await page.locator('.legend .dot').evaluateAll((dots) =>
      dots.map((dot) => {
        const { backgroundColor, backgroundImage } = getComputedStyle(dot)
        return `${backgroundColor} ${backgroundImage}`
      }),
    )
    assert.equal(new Set(looks).size, looks.length, looks.join('\n'))
    const said = (await sluice('explain', String(tour))).out.replace(/\s+/g, ' ')
    for (const pattern of [/role printing/, /The bridge is closed/, /7 Canal Street is busy/, /person/]) {
      assert.match(said, pattern)
    }
  })

  test('a child that is tried again says when, and what the last attempt ended with', async () => {
    await bothSay(child.busy, /tried again.*The line to 7 Canal Street is busy/s)
    await visit.page.getByRole('heading', { name: 'The last attempt failed' }).waitFor()
  })

  test('a child that nobody serves says which role is missing', async () => {
    await bothSay(child.printing, /none of the \d live workers.*role printing/s)
  })

  test('a job whose definition no process knows says which definition is missing', async () => {
    const place = ['--jobs', strangeJobs, '--folder', served.folder]
    const { out } = await command('job', 'run', 'errand', '--no-wait', '--json', ...place)
    const { jobId } = JSON.parse(out.split('\n').find((line) => line.startsWith('{')) ?? 'null') as { jobId: number }
    // The server meets its chunk once, and leaves it to others.
    const missing = /job definition errand@1/
    while (!missing.test((await client.explain(jobId)).sentence)) await visit.page.waitForTimeout(100)
    await bothSay(jobId, /no (live )?worker.*job definition errand@1/is)
  })

  test('a child that waits for a person offers the action', async () => {
    await bothSay(child.asking, /confirm/i)
    await visit.page.getByRole('button', { name: 'Confirm', exact: true }).waitFor()
  })

  test('a slow child says who runs it and since when', async () => {
    await bothSay(child.slow, /desk/)
  })

  test('a child whose worker died says that nothing is heard of the worker', async () => {
    const { page } = visit
    await visit.goto(`/entities/${child.attic}`)
    // First its worker is silent; when the lease has ended, no worker of that role is left.
    const lost = /nothing was heard of it|has the role attic/i
    // The page asks again by itself when something happens; silence is no event, so it is asked for here.
    for (let looks = 0; looks < 120; looks += 1) {
      const { sentence, kind } = await client.explain(child.attic)
      if (lost.test(sentence)) break
      assert.equal(kind, 'running')
      await page.waitForTimeout(500)
    }
    await bothSay(child.attic, lost)
  })

  test('a held child is released on its own page, and goes on', async () => {
    const { page } = visit
    await bothSay(child.held, /held by local.*The bridge is closed/s)
    await page.getByRole('button', { name: /^Release hold/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input[name=reason]').fill('It is open again')
    await dialog.getByRole('button', { name: 'Release', exact: true }).click()
    await visit.state('made')
  })

  test('a server that has lost a machine says which worker is missing', async () => {
    await served.kill()
    await visit.page.locator('.silence').waitFor({ timeout: 30_000 })
    const { status, out } = await sluice('explain', String(tour))
    assert.notEqual(status, 0)
    assert.match(out, /answer|reach|connect/i)
    await served.restart()
    await visit.page.locator('.silence').waitFor({ state: 'detached' })
    await bothSay(child.printing, /printing/)
  })
})
