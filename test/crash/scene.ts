import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TestProcess } from './test-process.ts'

/** A folder for one test, with the processes that were started in it: all are ended and all is removed when it is disposed. */
export class Scene implements AsyncDisposable {
  readonly folder: string
  readonly #processes: TestProcess[] = []

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`))
  }

  /** A folder of its own inside, for one store and its journals. */
  place(name: string): string {
    const folder = join(this.folder, name)
    mkdirSync(folder)
    return folder
  }

  start(program: URL, order: unknown, nodeOptions: readonly string[] = []): TestProcess {
    const started = new TestProcess(program, order, join(this.folder, 'compiled'), nodeOptions)
    this.#processes.push(started)
    return started
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const started of this.#processes) {
      started.signal('SIGKILL')
      await started.ended().catch(() => {})
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}
