/**
 * The tables, by number. A migration that was released is never changed: the next change is the next number.
 * `user_version` of the file is the number of the last one that was applied.
 */
export interface Migration {
  readonly number: number
  readonly sql: string
}

/** "SLUC": tells a catalogue from the files of other programs. */
export const applicationId = 0x534c_5543

/** Tables come in sets: the one in use has no prefix; one that is being rebuilt has this one until it takes its place. */
export const prefixes = { current: '', next: 'next_' } as const
export type Prefix = (typeof prefixes)[keyof typeof prefixes]

const tables = [
  'item',
  'fresh',
  'fold',
  'place',
  'by_time',
  'by_score',
  'by_author',
  'by_parent',
  'orphan',
  'merged',
  'borrowed',
  'known_before',
  'tally',
] as const

/**
 * Every table that grows with the items is written at its end only, whatever the order of the ids in a file:
 * a page changed for each row would cost more than all the rest (26 µs for each item instead of 6, at a million).
 * So `item` is in the order of arrival, and ids and search keys of new rows wait in `fresh` until a fold brings them
 * over in sorted order, about 65,000 at a time.
 *
 * kind: the type's number, plus 8 for what has a parent: so roots are found without walking past all the comments.
 * In the search tables an absent time or score stands as the lowest number, as WITHOUT ROWID keys cannot be null.
 */
export function tableSet(prefix: Prefix): string {
  return `
CREATE TABLE ${prefix}item (
  seq INTEGER PRIMARY KEY, id INTEGER NOT NULL, kind INTEGER NOT NULL, author TEXT, time INTEGER, score INTEGER, parent INTEGER,
  gone INTEGER NOT NULL, kids INTEGER NOT NULL, descendants INTEGER,
  entity INTEGER NOT NULL, batch INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  merged INTEGER NOT NULL
);
-- Where the row of an id is: first in fresh, during a fold in both, then in place.
CREATE TABLE ${prefix}fresh (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
-- How far the fold is: one row.
CREATE TABLE ${prefix}fold (done INTEGER NOT NULL, goal INTEGER NOT NULL, step INTEGER NOT NULL, after TEXT);
INSERT INTO ${prefix}fold (done, goal, step) VALUES (0, 0, 0);
CREATE TABLE ${prefix}place (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE ${prefix}by_time (
  kind INTEGER NOT NULL, time INTEGER NOT NULL, id INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (kind, time, id)
) WITHOUT ROWID;
CREATE TABLE ${prefix}by_score (
  kind INTEGER NOT NULL, score INTEGER NOT NULL, id INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (kind, score, id)
) WITHOUT ROWID;
CREATE TABLE ${prefix}by_author (
  author TEXT NOT NULL, time INTEGER NOT NULL, id INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (author, time, id)
) WITHOUT ROWID;
CREATE TABLE ${prefix}by_parent (
  parent INTEGER NOT NULL, id INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (parent, id)
) WITHOUT ROWID;
-- Rows whose parent was not known when they were written. Whether it is known now is judged when asked.
CREATE TABLE ${prefix}orphan (
  batch INTEGER NOT NULL, seq INTEGER NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (batch, seq)
) WITHOUT ROWID;
-- Documents that no file holds, as they were put together from an older and a newer one.
CREATE TABLE ${prefix}merged (seq INTEGER PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE ${prefix}tally (type INTEGER PRIMARY KEY, items INTEGER NOT NULL);
${versionTables(prefix)}`
}

function versionTables(prefix: Prefix): string {
  return `
-- Of merged documents: which fields came from another version than the standing one, and from which. JSON.
CREATE TABLE IF NOT EXISTS ${prefix}borrowed (seq INTEGER PRIMARY KEY, sources TEXT NOT NULL);
-- Of rows to which several batches put versions: the newest version that each batch found when it put its first one. Entity
-- null: it found none. So what is said of an item does not depend on which items of its batch came before it.
CREATE TABLE IF NOT EXISTS ${prefix}known_before (
  seq INTEGER NOT NULL, batch INTEGER NOT NULL,
  entity INTEGER, gone INTEGER, kids INTEGER, descendants INTEGER, score INTEGER, PRIMARY KEY (seq, batch)
) WITHOUT ROWID;
`
}

/**
 * Without content: the files hold the texts. Positions are kept (detail=full), as phrases need them; without them a row
 * would take a fifth less time. Merging eight segments at a time, not four, takes a quarter off.
 * The key is the number of arrival, as FTS5 writes out what it holds in memory whenever a key is lower than the last one.
 */
export function textTable(prefix: Prefix): string {
  return `CREATE VIRTUAL TABLE ${prefix}words USING fts5(
  title, text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO ${prefix}words (${prefix}words, rank) VALUES ('automerge', 8);`
}

export function dropSet(prefix: Prefix): string {
  return [...tables, 'words'].map((table) => `DROP TABLE IF EXISTS ${prefix}${table};`).join('\n')
}

/** The set that was rebuilt takes the place of the current one, which must have been dropped. */
export function renameSet(withText: boolean): string {
  return [...tables, ...(withText ? ['words'] : [])]
    .map((table) => `ALTER TABLE ${prefixes.next}${table} RENAME TO ${table};`)
    .join('\n')
}

const first = `
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- The numbers by which entries name their files. They stand in the data of entities, so a rebuild keeps them.
CREATE TABLE file (number INTEGER PRIMARY KEY AUTOINCREMENT, sha256 TEXT NOT NULL UNIQUE);
${tableSet(prefixes.current)}
`

/** A rebuild that another program has under way is given up: it fills tables of the old form. */
const second = `
DELETE FROM setting WHERE name = 'rebuild';
DROP TABLE IF EXISTS superseded;
DROP TABLE IF EXISTS ${prefixes.next}superseded;
${dropSet(prefixes.next)}
${versionTables(prefixes.current)}
`

export const migrations: readonly Migration[] = [
  { number: 1, sql: first },
  { number: 2, sql: second },
]

export const newest = migrations.at(-1)?.number ?? 0
