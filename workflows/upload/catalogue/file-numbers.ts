import { SluiceError } from 'sluice/errors'
import type { Database } from './database.ts'

const digest = /^[0-9a-f]{64}$/

/** Stored files by number, as a thousand entries name the same one. Numbers are never given twice, and outlive a rebuild. */
export class FileNumbers {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  number(sha256: string): number {
    if (!digest.test(sha256)) {
      throw new SluiceError(
        'invalid',
        `A stored file is named by its SHA-256, 64 hexadecimal digits; it was ${JSON.stringify(sha256)}.`,
        {
          field: 'sha256',
        },
      )
    }
    return this.#find(sha256) ?? this.#add(sha256)
  }

  sha256(number: number): string {
    // Also asked in the middle of a put, which merges with a document of another file: one statement needs no transaction of its own.
    const found = this.#database.all('SELECT sha256 FROM file WHERE number = ?', [number])
    if (typeof found[0]?.[0] === 'string') return found[0][0]
    throw new SluiceError(
      'not_found',
      `The catalogue ${this.#database.file} knows no file ${number}: it was lost or replaced. Build it anew: sluice upload rebuild-index.`,
      {
        file: number,
      },
    )
  }

  /** Throws if the number, or the file, is known otherwise. */
  register(number: number, sha256: string): void {
    this.#database.write(() => {
      this.#database.run('INSERT OR IGNORE INTO file (number, sha256) VALUES (?, ?)', [number, sha256])
      if (this.#select(sha256) === number) return
      const message = `The catalogue ${this.#database.file} knows the file ${sha256} by another number than ${number}, or the number as another file.`
      throw new SluiceError('conflict', message, { file: number, sha256 })
    })
  }

  #find(sha256: string): number | null {
    return this.#database.read(() => this.#select(sha256))
  }

  #add(sha256: string): number {
    return this.#database.write(() => {
      // Another process may have been first.
      this.#database.run('INSERT OR IGNORE INTO file (sha256) VALUES (?)', [sha256])
      return this.#select(sha256)!
    })
  }

  #select(sha256: string): number | null {
    return this.#database.number('SELECT number FROM file WHERE sha256 = ?', [sha256])
  }
}
