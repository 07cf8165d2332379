import { nowhere, type Running } from './running.ts'

/**
 * What runs in this process, in no particular order. A list in which each knows its place, and not a map: a map that takes in and lets go
 * of thousands a second copies itself again and again, and each copy that has grown old keeps what was in it alive, until all of
 * memory is looked through.
 */
export class RunningSet implements Iterable<Running> {
  readonly #all: Running[] = []

  get size(): number {
    return this.#all.length
  }

  add(running: Running): void {
    running.place = this.#all.length
    this.#all.push(running)
  }

  has(running: Running): boolean {
    return this.#all[running.place] === running
  }

  delete(running: Running): void {
    if (!this.has(running)) return
    const last = this.#all.pop() as Running
    if (last !== running) {
      this.#all[running.place] = last
      last.place = running.place
    }
    running.place = nowhere
  }

  [Symbol.iterator](): Iterator<Running> {
    return this.#all.values()
  }
}
