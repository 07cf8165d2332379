import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** How a process ended. */
export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly errors: string
}

/** One process of a test, from its start to its end. What it writes to its error stream is kept for the message of a failure. */
export class TestProcess {
  readonly #process: ChildProcess
  readonly #ending: Promise<Ending>
  readonly #lines: string[] = []
  readonly #listeners = new Set<() => void>()
  #errors = ''
  #isOver = false

  constructor(program: URL, order: unknown, cacheFolder: string, nodeOptions: readonly string[] = []) {
    this.#process = spawn(
      process.execPath,
      ['--conditions=sluice-source', ...nodeOptions, fileURLToPath(program), JSON.stringify(order)],
      // Types are stripped once, by the first process that ends in peace; the others start in half the time.
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_COMPILE_CACHE: cacheFolder } },
    )
    let rest = ''
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      this.#lines.push(...lines)
      this.#tell()
    })
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000)
    })
    this.#ending = new Promise((resolve, reject) => {
      this.#process.once('error', reject)
      this.#process.once('close', (code, signal) => {
        this.#isOver = true
        this.#tell()
        resolve({ code, signal, errors: this.#errors })
      })
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  /** The end of what it wrote to its error stream. */
  get errors(): string {
    return this.#errors
  }

  get isOver(): boolean {
    return this.#isOver
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isOver) this.#process.kill(signal)
  }

  ended(): Promise<Ending> {
    return this.#ending
  }

  /** The first line that fits, as soon as it is said. Null: the process ended, or the time is over. */
  async line(pattern: RegExp, withinMs = 20_000): Promise<string | null> {
    const find = () => this.#lines.find((line) => pattern.test(line))
    const deadline = performance.now() + withinMs
    while (find() === undefined && !this.#isOver) {
      const remainingMs = deadline - performance.now()
      if (remainingMs <= 0) break
      await this.#news(remainingMs)
    }
    return find() ?? null
  }

  /** Ends in peace, or fails with all that it said. */
  async success(withinMs: number): Promise<void> {
    const timer = setTimeout(() => this.signal('SIGKILL'), withinMs)
    const { code, signal, errors } = await this.#ending
    clearTimeout(timer)
    if (code !== 0) throw new Error(`A process ended with ${signal ?? code} after at most ${withinMs} ms:\n${errors}`)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #news(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#listeners.delete(done)
        resolve()
      }
      const timer = setTimeout(done, withinMs)
      this.#listeners.add(done)
    })
  }
}
