import type { Lane } from '../../lane.ts'
import type { Session } from './database.ts'
import { letsThrough } from './lane-row.ts'
import { type Line, newLine, type Place, type Run } from './line.ts'
import { Missing } from './need.ts'
import type { SharedLines } from './shared-lines.ts'
import type { Stock } from './stock.ts'

/** Lines in one decision. Those of a lane change only under the lock of the lane. */
export class Lines {
  readonly #stock: Stock
  readonly #sharedLines: SharedLines
  readonly #changed = new Map<number, Line>()

  constructor(stock: Stock, sharedLines: SharedLines) {
    this.#stock = stock
    this.#sharedLines = sharedLines
  }

  /** They are never shut, and never idle. */
  shared(run: Run, suspect: boolean): Line {
    return this.#sharedLines.of(run, suspect)
  }

  /** Of one lane's children, staged ones apart. It is shut unless the lane lets them through and they are published. */
  ofLane(run: Run, lane: number, figures: Lane, gated: boolean, staging: number | null, suspect: boolean): Line {
    if (!this.#stock.linesOf.has(lane)) throw new Missing({ kind: 'linesOf', lanes: [lane] })
    const isShut = staging !== null || !letsThrough(figures, gated)
    return this.#find(newLine('lane', run, { lane, gated, staging, suspect }, isShut))
  }

  /** Of what a hold stopped, by whether the claim called the state holdable. Claims pass by while the hold stands. */
  ofHold(run: Run, hold: number, holdable: boolean, suspect: boolean): Line {
    return this.#named('hold', run, { hold, holdable, suspect })
  }

  /** Of those whose wait names this pool. */
  ofPool(run: Run, pool: string, suspect: boolean): Line {
    return this.#named('pool', run, { pool, suspect })
  }

  /** Of those that the claim itself limits by the value of a label: the pool is of that value. */
  ofLabel(run: Run, pool: string, suspect: boolean): Line {
    return this.#named('label', run, { pool, suspect })
  }

  /** Somebody stands in the line from now on. */
  enter(line: Line): number {
    const current = this.#changed.get(line.id) ?? line
    if (current.idle) this.#changed.set(line.id, { ...current, idle: false })
    return line.id
  }

  /** The lane's order or gate has changed. */
  follow(lane: number, figures: Lane, isStaged: (staging: number) => boolean): void {
    for (const line of this.#of(lane)) {
      const staged = line.staging !== null && isStaged(line.staging)
      this.#shut(line, staged || !letsThrough(figures, line.gated))
    }
  }

  publish(staging: number, lanes: Iterable<number>, laneOf: (lane: number) => Lane): void {
    for (const lane of lanes) {
      for (const line of this.#of(lane)) {
        if (line.staging === staging) this.#shut(line, !letsThrough(laneOf(lane), line.gated))
      }
    }
  }

  flush(session: Session): void {
    if (this.#changed.size === 0) return
    const lines = [...this.#changed.values()].sort((one, other) => one.id - other.id)
    session.send(
      `UPDATE line SET shut = u.shut, idle = u.idle FROM unnest($1::int4[], $2::bool[], $3::bool[]) AS u (id, shut, idle) WHERE line.id = u.id`,
      [lines.map(({ id }) => id), lines.map(({ shut }) => shut), lines.map(({ idle }) => idle)],
    )
  }

  #of(lane: number): readonly Line[] {
    const lines = this.#stock.linesOf.get(lane)
    if (!lines) throw new Missing({ kind: 'linesOf', lanes: [lane] })
    return lines
  }

  #shut(line: Line, shut: boolean): void {
    const current = this.#changed.get(line.id) ?? line
    if (current.shut !== shut) this.#changed.set(line.id, { ...current, shut })
  }

  #named(kind: 'hold' | 'pool' | 'label', run: Run, place: Place): Line {
    return this.#find(newLine(kind, run, place, false))
  }

  #find(line: ReturnType<typeof newLine>): Line {
    const known = this.#stock.lines.get(line.name)
    if (!known) throw new Missing({ kind: 'line', line })
    return known
  }
}
