import { SluiceError } from '../../errors.ts'
import type { MachineRow } from '../../store.ts'
import { type Hop, isSamePath } from '../../transition.ts'
import type { Database, Session } from './database.ts'

export interface MachineEntry {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly labels: readonly string[]
  readonly isDefined: boolean
}

export interface Path {
  readonly cause: string
  readonly hops: readonly Hop[]
}

/** What was asked of the dictionary and is not in it. */
export interface Lesson {
  readonly words?: readonly string[]
  readonly machines?: readonly { readonly name: string; readonly version: number }[]
  readonly paths?: readonly Path[]
}

/** Whoever asked is asked again once the lesson is learned. An empty one: another process has written names that are new here. */
export class Unlearned extends Error {
  readonly lesson: Lesson

  constructor(lesson: Lesson) {
    super('A name is not known yet.')
    this.lesson = lesson
  }
}

/**
 * Names that rows keep as numbers: words (states, edges), machines, and the paths of moves. Nothing here is ever removed, so what is
 * known stays true; new names are written in a transaction of their own, before the one that needs them.
 */
export class Dictionary {
  readonly #database: Database
  readonly #words = new Map<string, number>()
  readonly #texts = new Map<number, string>()
  readonly #machines = new Map<string, MachineEntry>()
  readonly #machinesById = new Map<number, MachineEntry>()
  readonly #paths = new Map<string, number>()
  readonly #pathsById = new Map<number, Path>()
  #lastPath: (Path & { readonly id: number }) | null = null
  #revision = -1

  constructor(database: Database) {
    this.#database = database
  }

  /** Does the work, and again as often as it meets a name that is not known. */
  async learning<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let lessons = 0; ; lessons += 1) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Unlearned) || lessons >= 1_000) throw error
        await this.learn(error.lesson)
      }
    }
  }

  word(text: string): number {
    const known = this.#words.get(text)
    if (known === undefined) throw new Unlearned({ words: [text] })
    return known
  }

  wordIfKnown(text: string): number | null {
    return this.#words.get(text) ?? null
  }

  text(id: number): string {
    const known = this.#texts.get(id)
    if (known === undefined) throw new Unlearned({})
    return known
  }

  machine(name: string, version: number): MachineEntry {
    const known = this.#machines.get(`${name}@${version}`)
    if (!known) throw new Unlearned({ machines: [{ name, version }] })
    return known
  }

  machineIfKnown(name: string, version: number): MachineEntry | null {
    return this.#machines.get(`${name}@${version}`) ?? null
  }

  machineOf(id: number): MachineEntry {
    const known = this.#machinesById.get(id)
    if (!known) throw new Unlearned({})
    return known
  }

  machines(): Iterable<MachineEntry> {
    return this.#machinesById.values()
  }

  /** The names of a machine's labels, as its newest version declares them. */
  readonly labelNames = (machine: string): readonly string[] => {
    let newest: MachineEntry | null = null
    for (const entry of this.#machinesById.values()) {
      if (entry.name === machine && entry.isDefined && entry.version > (newest?.version ?? Number.NEGATIVE_INFINITY))
        newest = entry
    }
    return newest?.labels ?? []
  }

  path(cause: string, hops: readonly Hop[]): number {
    const last = this.#lastPath
    if (last && last.cause === cause && isSamePath(last.hops, hops)) return last.id
    const id = this.#paths.get(keyOf(cause, hops))
    if (id === undefined) throw new Unlearned({ paths: [{ cause, hops }] })
    this.#lastPath = { cause, hops, id }
    return id
  }

  pathOf(id: number): Path {
    const known = this.#pathsById.get(id)
    if (!known) throw new Unlearned({})
    return known
  }

  /** What is known is as of this one. */
  get revision(): number {
    return this.#revision
  }

  /** Machines may be declared anew by another process: it leaves a number that has grown. */
  isCurrent(revision: number): boolean {
    return this.#revision === revision
  }

  async learn({ words = [], machines = [], paths = [] }: Lesson): Promise<void> {
    await this.#database.single(async (session) => {
      if (words.length > 0)
        session.send('INSERT INTO word (text) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING', [
          [...words],
        ])
      for (const { name, version } of machines)
        session.send('INSERT INTO machine (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, version])
      for (const { cause, hops } of paths)
        session.send('INSERT INTO path (cause, hops) VALUES ($1, $2) ON CONFLICT DO NOTHING', [cause, textOf(hops)])
      await this.#reload(session)
    })
  }

  async define(declared: readonly MachineRow[]): Promise<void> {
    await this.#database.write(async (session) => {
      for (const { name, version, digest, labels, declaration } of declared) {
        session.send('INSERT INTO machine (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, version])
        const [known] = (await session.one('SELECT digest FROM machine WHERE name = $1 AND version = $2 FOR UPDATE', [
          name,
          version,
        ])) as [string | null]
        if (known !== null && known !== digest) {
          throw new SluiceError(
            'conflict',
            `Machine ${name} version ${version} is already known with another definition. Give the changed one a new version.`,
            { machine: name, version, known, given: digest },
          )
        }
        session.send(
          `WITH changed AS (
             UPDATE machine SET digest = $3, labels = $4, declaration = $5
             WHERE name = $1 AND version = $2 AND (digest IS NULL OR labels <> $4 OR declaration <> $5) RETURNING 1)
           UPDATE counter SET value = value + 1 WHERE name = 'machines' AND EXISTS (SELECT FROM changed)`,
          [name, version, digest, JSON.stringify(labels), declaration],
        )
      }
    })
    await this.learn({})
  }

  async #reload(session: Session): Promise<void> {
    const [words, machines, paths, revision] = await Promise.all([
      session.all('SELECT id, text FROM word'),
      session.all('SELECT id, name, version, labels, digest IS NOT NULL FROM machine'),
      session.all('SELECT id, cause, hops FROM path'),
      session.one("SELECT value FROM counter WHERE name = 'machines'"),
    ])
    for (const [id, text] of words as [number, string][]) {
      this.#words.set(text, id)
      this.#texts.set(id, text)
    }
    for (const [id, name, version, labels, isDefined] of machines as [number, string, number, string, boolean][]) {
      const entry: MachineEntry = { id, name, version, labels: JSON.parse(labels), isDefined }
      this.#machines.set(`${name}@${version}`, entry)
      this.#machinesById.set(id, entry)
    }
    for (const [id, cause, text] of paths as [number, string, string][]) {
      if (this.#pathsById.has(id)) continue
      const hops = JSON.parse(text) as readonly Hop[]
      this.#pathsById.set(id, { cause, hops })
      this.#paths.set(keyOf(cause, hops), id)
    }
    this.#revision = (revision?.[0] as number | undefined) ?? -1
  }
}

function keyOf(cause: string, hops: readonly Hop[]): string {
  let key = cause
  for (const hop of hops) key += `\u0000${hop.transition}\u0000${hop.from}\u0000${hop.to}`
  return key
}

function textOf(hops: readonly Hop[]): string {
  return JSON.stringify(hops.map(({ transition, from, to }) => ({ transition, from, to })))
}
