import type { Socket } from 'node:net'
import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import { isAftermath } from './fault.ts'
import { Flight, type Order, Prepared } from './flight.ts'
import type { Answer, Row, Value } from './statement.ts'

/** What each connection has prepared. */
const preparedBy = new WeakMap<pg.ClientBase, Prepared>()

function preparedOf(client: pg.ClientBase): Prepared {
  let prepared = preparedBy.get(client)
  if (!prepared) {
    prepared = new Prepared()
    preparedBy.set(client, prepared)
  }
  return prepared
}

/** What a connection is asked, one after another, without waiting for the answers in between. */
export class Session {
  readonly #client: pg.ClientBase
  readonly #clock: Clock
  readonly #noteWritten: (rows: number) => void
  /** Asked for since the last flight left. */
  #orders: Order[] = []
  #unanswered = 0
  /** Of the last answer, or of the question if there was none since. */
  #heardAt = 0
  #whenAnswered: (() => void)[] = []
  #fault: unknown = null
  /** The word that the server then says. */
  #end: Promise<string> | null = null
  #isUndone = false

  constructor(client: pg.ClientBase, clock: Clock, noteWritten: (rows: number) => void) {
    this.#client = client
    this.#clock = clock
    this.#noteWritten = noteWritten
  }

  /** Rows as arrays. Sent at once; other statements may be sent before the answer is there. */
  all(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    return this.#ask(sql, values, ({ rows }) => rows)
  }

  one(sql: string, values: readonly Value[] = []): Promise<Row | null> {
    return this.#ask(sql, values, ({ rows }) => rows[0] ?? null)
  }

  /** Nobody asks for its answer; if it fails, the whole transaction does. */
  send(sql: string, values: readonly Value[] = []): void {
    this.#order(sql, values, nobodyAsks, nobodyAsks)
  }

  /** Statements whose text is used once: not prepared. */
  exec(sql: string): Promise<pg.QueryArrayResult> {
    this.#depart()
    this.#expect()
    const answer = this.#client.query({ text: sql, rowMode: 'array' }).then(
      (result) => {
        this.#note(result.command, result.rowCount ?? 0)
        this.#tick()
        return result
      },
      (error) => {
        this.#blame(error)
        this.#tick()
        throw error
      },
    )
    answer.catch(nobodyAsks)
    return answer
  }

  begin(): void {
    this.send('BEGIN')
  }

  /** All that is read from here on is of one moment. */
  beginReading(): void {
    this.send('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  }

  /**
   * The transaction ends here: its COMMIT goes out with what was sent last, and nobody waits for the answers in between. Whatever fails
   * after this on our side fails too late.
   */
  commit(): Promise<string> {
    this.#end ??= this.#ask('COMMIT', [], commandOf)
    return this.#end
  }

  /** Nothing was written that anybody needs: the server need not bring it to the disk. */
  undo(): void {
    this.#isUndone = true
    this.#end ??= this.#ask('ROLLBACK', [], commandOf)
  }

  /** Once the end is answered: whether the connection can be used again. */
  isOver(): Promise<boolean> {
    if (!this.#end) return Promise.resolve(true)
    return this.#end.then(
      () => true,
      () => false,
    )
  }

  get isUndone(): boolean {
    return this.#isUndone
  }

  /** The first thing that went wrong, once all that was sent has been answered. */
  async settle(): Promise<void> {
    if (this.#unanswered > 0) await new Promise<void>((resolve) => this.#whenAnswered.push(resolve))
    if (this.#fault !== null) throw this.#fault
  }

  /** Since when nothing was heard of what was asked; null: there is nothing to wait for. */
  get silentSince(): number | null {
    return this.#unanswered === 0 ? null : this.#heardAt
  }

  /** Nobody waits any longer: the connection is dropped, and whoever asked is told. */
  abandon(): void {
    // The driver's types do not tell of its socket.
    const { stream } = (this.#client as unknown as { readonly connection: { readonly stream: Socket } }).connection
    stream.destroy(new Error('Query read timeout'))
  }

  /** What really went wrong: statements behind the one that failed are refused only because of it. */
  faultBehind(error: unknown): unknown {
    return isAftermath(error) ? (this.#fault ?? error) : error
  }

  #ask<Result>(sql: string, values: readonly Value[], read: (answer: Answer) => Result): Promise<Result> {
    const answer = new Promise<Result>((resolve, reject) =>
      this.#order(sql, values, (answer) => resolve(read(answer)), reject),
    )
    // Whoever asked may have given up already: then the transaction tells of it.
    answer.catch(nobodyAsks)
    return answer
  }

  #order(
    text: string,
    values: readonly Value[],
    answered: (answer: Answer) => void,
    failed: (error: unknown) => void,
  ): void {
    this.#expect()
    if (this.#orders.length === 0) queueMicrotask(() => this.#depart())
    this.#orders.push({
      text,
      values,
      answered: (answer) => {
        this.#note(answer.command, answer.rowCount)
        answered(answer)
        this.#tick()
      },
      failed: (error) => {
        this.#blame(error)
        failed(error)
        this.#tick()
      },
    })
  }

  /** All that is asked for without a pause goes out as one: a packet for each statement would cost more than the statements do. */
  #depart(): void {
    if (this.#orders.length === 0) return
    const flight = new Flight(this.#orders, preparedOf(this.#client))
    this.#orders = []
    try {
      this.#client.query(flight as unknown as pg.Submittable)
    } catch (error) {
      // A value that cannot be put into words, such as a text that would be too long. A part of the flight may have left: nobody can go on from there.
      flight.handleError(error as Error)
      this.abandon()
    }
  }

  #note(command: string, rows: number): void {
    if (command !== 'SELECT' && rows > 0) this.#noteWritten(rows)
  }

  #blame(error: unknown): void {
    if (this.#fault === null || isAftermath(this.#fault)) this.#fault = error
  }

  #expect(): void {
    if (this.#unanswered === 0) this.#heardAt = this.#clock.now()
    this.#unanswered += 1
  }

  #tick(): void {
    this.#unanswered -= 1
    this.#heardAt = this.#clock.now()
    if (this.#unanswered > 0) return
    for (const resolve of this.#whenAnswered.splice(0)) resolve()
  }
}

function nobodyAsks(): void {}

function commandOf({ command }: Answer): string {
  return command
}
