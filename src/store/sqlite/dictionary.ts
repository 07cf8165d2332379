import { SluiceError } from '../../errors.ts'
import type { MachineRow } from '../../store.ts'
import { type Hop, isSamePath } from '../../transition.ts'
import type { Database } from './database.ts'

export interface MachineEntry {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly labels: readonly string[]
}

export interface Path {
  readonly cause: string
  readonly hops: readonly Hop[]
}

/** Names that rows keep as numbers: words (states, edges), machines, and the paths of moves. Nothing here is ever removed. */
export class Dictionary {
  readonly #database: Database
  readonly #words = new Map<string, number>()
  readonly #texts = new Map<number, string>()
  readonly #machines = new Map<string, MachineEntry>()
  #lastMachine: MachineEntry | null = null
  readonly #machinesById = new Map<number, MachineEntry>()
  readonly #labels = new Map<string, readonly string[]>()
  readonly #paths = new Map<string, number>()
  readonly #pathsById = new Map<number, Path>()
  /** Most moves of a group take the same path. */
  #lastPath: (Path & { readonly id: number }) | null = null

  constructor(database: Database) {
    this.#database = database
    database.onForget((undone) => this.#forget(undone))
  }

  /** The word's number; made if it is new. */
  word(text: string): number {
    return (
      this.wordIfKnown(text) ??
      this.#remember(text, this.#insert('INSERT INTO word (text) VALUES (?) RETURNING id', text))
    )
  }

  wordIfKnown(text: string): number | null {
    const known = this.#words.get(text)
    if (known !== undefined) return known
    const id = this.#database.number('SELECT id FROM word WHERE text = ?', text)
    return id === null ? null : this.#remember(text, id)
  }

  text(id: number): string {
    const known = this.#texts.get(id)
    if (known !== undefined) return known
    const text = this.#database.get('SELECT text FROM word WHERE id = ?', id)?.[0] as string
    this.#remember(text, id)
    return text
  }

  machine(name: string, version: number): MachineEntry {
    const known = this.machineIfKnown(name, version)
    if (known) return known
    const id = this.#insert('INSERT INTO machine (name, version) VALUES (?, ?) RETURNING id', name, version)
    return this.#rememberMachine({ id, name, version, labels: [] })
  }

  machineIfKnown(name: string, version: number): MachineEntry | null {
    // Most that are written together are of one machine.
    const last = this.#lastMachine
    if (last && last.name === name && last.version === version) return last
    const found = this.#findMachine(name, version)
    this.#lastMachine = found
    return found
  }

  #findMachine(name: string, version: number): MachineEntry | null {
    const known = this.#machines.get(`${name}@${version}`)
    if (known) return known
    const row = this.#database.get('SELECT id, labels FROM machine WHERE name = ? AND version = ?', name, version)
    if (!row) return null
    return this.#rememberMachine({ id: row[0] as number, name, version, labels: JSON.parse(row[1] as string) })
  }

  machineOf(id: number): MachineEntry {
    const known = this.#machinesById.get(id)
    if (known) return known
    const row = this.#database.get('SELECT name, version, labels FROM machine WHERE id = ?', id)!
    return this.#rememberMachine({
      id,
      name: row[0] as string,
      version: row[1] as number,
      labels: JSON.parse(row[2] as string),
    })
  }

  machinesNamed(name: string): readonly MachineEntry[] {
    return this.#database.all('SELECT id FROM machine WHERE name = ?', name).map(([id]) => this.machineOf(id as number))
  }

  define({ name, version, digest, labels, declaration }: MachineRow): void {
    const { id } = this.machine(name, version)
    const known = this.#database.get('SELECT digest FROM machine WHERE id = ?', id)?.[0] as string | null
    if (known !== null && known !== digest) {
      throw new SluiceError(
        'conflict',
        `Machine ${name} version ${version} is already known with another definition. Give the changed one a new version.`,
        { machine: name, version, known, given: digest },
      )
    }
    const text = JSON.stringify(labels)
    this.#database.run(
      'UPDATE machine SET digest = ?, labels = ?, declaration = ? WHERE id = ? AND (digest IS NULL OR labels <> ? OR declaration <> ?)',
      digest,
      text,
      declaration,
      id,
      text,
      declaration,
    )
    this.#labels.clear()
    this.#rememberMachine({ id, name, version, labels: [...labels] })
  }

  /** The names of a machine's labels, as its newest version declares them. */
  readonly labelNames = (machine: string): readonly string[] => {
    const known = this.#labels.get(machine)
    if (known) return known
    const row = this.#database.get(
      'SELECT labels FROM machine WHERE name = ? AND digest IS NOT NULL ORDER BY version DESC LIMIT 1',
      machine,
    )
    const names = row ? (JSON.parse(row[0] as string) as readonly string[]) : []
    this.#labels.set(machine, names)
    return names
  }

  path(cause: string, hops: readonly Hop[]): number {
    const last = this.#lastPath
    if (last && last.cause === cause && isSamePath(last.hops, hops)) return last.id
    const id = this.#findPath(cause, hops)
    this.#lastPath = { cause, hops, id }
    return id
  }

  #findPath(cause: string, hops: readonly Hop[]): number {
    let key = cause
    for (const hop of hops) key += `\u0000${hop.transition}\u0000${hop.from}\u0000${hop.to}`
    const known = this.#paths.get(key)
    if (known !== undefined) return known
    const text = JSON.stringify(hops.map(({ transition, from, to }) => ({ transition, from, to })))
    const id =
      this.#database.number('SELECT id FROM path WHERE cause = ? AND hops = ?', cause, text) ??
      this.#insert('INSERT INTO path (cause, hops) VALUES (?, ?) RETURNING id', cause, text)
    this.#paths.set(key, id)
    return id
  }

  pathOf(id: number): Path {
    let path = this.#pathsById.get(id)
    if (!path) {
      const row = this.#database.get('SELECT cause, hops FROM path WHERE id = ?', id)!
      path = { cause: row[0] as string, hops: JSON.parse(row[1] as string) }
      this.#pathsById.set(id, path)
    }
    return path
  }

  #insert(sql: string, ...values: (string | number)[]): number {
    return this.#database.number(sql, ...values)!
  }

  #remember(text: string, id: number): number {
    this.#words.set(text, id)
    this.#texts.set(id, text)
    return id
  }

  #rememberMachine(entry: MachineEntry): MachineEntry {
    this.#machines.set(`${entry.name}@${entry.version}`, entry)
    this.#machinesById.set(entry.id, entry)
    return entry
  }

  /** What is committed stays; only labels may be declared anew, by another process. */
  #forget(undone: boolean): void {
    this.#labels.clear()
    this.#lastMachine = null
    this.#machines.clear()
    this.#machinesById.clear()
    if (!undone) return
    this.#words.clear()
    this.#texts.clear()
    this.#paths.clear()
    this.#lastPath = null
    this.#pathsById.clear()
  }
}
