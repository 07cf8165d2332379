import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from 'sluice'
import { Documents, withCatalogue } from './sample-items.ts'

/** Opens new files at the same moment as other threads do, and puts something: for the test that starts them. */
export interface Opening {
  readonly folder: string
  readonly files: number
  readonly threads: number
  readonly thread: number
  /** One number for each file: how many threads are ready to open it. */
  readonly ready: SharedArrayBuffer
}

const { folder, files, threads, thread, ready } = workerData as Opening
const arrived = new Int32Array(ready)
const faults: string[] = []
for (let file = 0; file < files; file += 1) {
  Atomics.add(arrived, file, 1)
  while (Atomics.load(arrived, file) < threads);
  try {
    withCatalogue({ folder, file: join(folder, `${file}.db`), textIndex: true }, (catalogue) => {
      catalogue.put([new Documents().entry(thread, 1, { hnId: thread, type: 'story', title: 'tide' })])
      if (catalogue.search({ text: 'tide' }).rows.length === 0) faults.push('Its own item was not found.')
    })
  } catch (error) {
    faults.push(messageOf(error))
  }
}
parentPort?.postMessage(faults)
