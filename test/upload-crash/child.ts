import { createReadStream, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { type Control, openSluice, sleep, systemClock } from '../../src/index.ts'
import { type ItemData, openUpload, type Upload, uploadBatch } from '../../workflows/upload/index.ts'
import { durableStore } from '../durable-store.ts'
import type { ReportedItem, UploadOrder, UploadReport } from './order.ts'

const patienceMs = 60_000

/** Uploads the file (again: the same file of the same uploader is the same batch), waits for its end, and says what came of it. */
async function run({ folder, file, groupMax, limits }: UploadOrder): Promise<void> {
  const upload = await openUpload({ folder, groupMax })
  const store = durableStore(join(folder, 'sluice.db'), limits)
  const sluice = await openSluice({
    store,
    implementations: upload.implementations,
    limits,
    log: pino({ level: 'error' }, pino.destination(2)),
  })
  // Written at once: what is said before a kill is heard.
  writeSync(1, 'up\n')
  // Work that was begun goes on at once, while the file is handed over again.
  const begun = (await sluice.list({ machine: uploadBatch.name })).entities[0]?.id
  const telling = begun === undefined ? null : tellStates(sluice, begun)
  const { id } = await upload.receive(sluice, createReadStream(file), { fileName: 'sample.json', uploadedBy: 'ada' })
  if (begun !== undefined && begun !== id) throw new Error(`The same file became batch ${id}, and was batch ${begun}.`)
  await (telling ?? tellStates(sluice, id))
  const report = await reportOf(sluice, upload, id)
  await sluice.stop()
  await store.close()
  await upload.stop()
  process.stdout.write(`report ${JSON.stringify(report)}\n`)
}

/** Says which state the batch is in whenever that is news, until it has settled. */
async function tellStates(control: Control, id: number): Promise<void> {
  const clock = systemClock()
  const deadline = clock.now() + patienceMs
  for (let last = ''; ; ) {
    const { state, settled } = await control.get(id)
    if (state !== last) writeSync(1, `state ${state}\n`)
    last = state
    if (settled) return
    if (clock.now() > deadline) throw new Error((await control.explain(id)).sentence)
    await sleep(clock, 5)
  }
}

async function reportOf(control: Control, upload: Upload, id: number): Promise<UploadReport> {
  const view = await upload.batch(control, id)
  const items: ReportedItem[] = []
  for (let after: number | undefined; ; ) {
    const page = await control.list({ parent: id, limit: 1_000, ...(after === undefined ? {} : { after }) })
    for (const { data, state, reason } of page.entities) {
      const { itemIndex, hnId = null } = data as ItemData
      if (items[itemIndex] !== undefined) throw new Error(`Item ${itemIndex} is there twice.`)
      items[itemIndex] = { hnId, state, reason }
    }
    if (page.next === null) break
    after = page.next
  }
  const documents: [number, string][] = []
  for (let after: string | undefined; ; ) {
    const page = await upload.search({ limit: 1_000, ...(after === undefined ? {} : { after }) })
    for (const { hnId, item } of page.found) documents.push([hnId, JSON.stringify(item)])
    if (page.next === null) break
    after = page.next
  }
  return {
    state: view.state,
    total: view.totalItemsInFile,
    completed: view.itemsProcessed,
    failed: view.itemsErrored,
    skipped: view.itemsSkipped,
    merged: view.resultSummary?.merged ?? -1,
    unresolvedLinks: view.resultSummary?.unresolvedLinks ?? -1,
    reasons: view.reasons,
    items: Array.from(items, (item) => item ?? { hnId: null, state: 'missing', reason: null }),
    documents: documents.sort(([one], [other]) => one - other),
    drifts: (await control.check([id, null])).length,
  }
}

await run(JSON.parse(process.argv[2] ?? '') as UploadOrder)
