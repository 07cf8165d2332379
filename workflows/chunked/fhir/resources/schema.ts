/** "SLUR": tells a file of resources from the files of other programs. */
export const applicationId = 0x534c_5552

/** A migration that was released is never changed: the next change is the next number, kept in `user_version`. */
export interface Migration {
  readonly number: number
  readonly sql: string
}

/**
 * resource: in the order of arrival, so that it is written at its end only. A number is given once and stays with its
 * resource through all versions: ranges of numbers can be handed out as work. The text stands last in the row, as the
 * columns before it are read without it. `indexed` is the version of the index that its terms were made with; 0: what is
 * in the index, if anything, was made from an older text.
 *
 * term: what is searched. indexed: the terms of each resource in one text, in the order of arrival. It says which rows of
 * term to take away when a resource changes, and whether anything changes at all.
 */
const first = `
CREATE TABLE type (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE source (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE resource (
  number INTEGER PRIMARY KEY, type INTEGER NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
  updated INTEGER NOT NULL, source INTEGER, line INTEGER, indexed INTEGER NOT NULL, json TEXT NOT NULL
);
CREATE UNIQUE INDEX resource_by_id ON resource (type, id);
-- With the time in it, what changed since a moment is found without reading what did not.
CREATE INDEX resource_by_type ON resource (type, number, updated);
CREATE TABLE param (number INTEGER PRIMARY KEY, type INTEGER NOT NULL, code TEXT NOT NULL, UNIQUE (type, code));
CREATE TABLE term (param INTEGER NOT NULL, value NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (param, value, number)) WITHOUT ROWID;
CREATE TABLE indexed (number INTEGER PRIMARY KEY, terms TEXT NOT NULL);
CREATE TABLE tally (type INTEGER NOT NULL, indexed INTEGER NOT NULL, resources INTEGER NOT NULL, PRIMARY KEY (type, indexed)) WITHOUT ROWID;
-- What each group was answered, for whoever puts it again because it died before it heard.
CREATE TABLE operation (key TEXT PRIMARY KEY, digest TEXT NOT NULL, verdicts TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX operation_by_time ON operation (at);
`

/**
 * Each collection has its own resources: the same type and id may stand in several. 0 is no collection, where everything was before.
 * The column stands behind the text, as a table can only grow there; so it is read from indexes.
 */
const collections = `
CREATE TABLE collection (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
ALTER TABLE resource ADD COLUMN collection INTEGER NOT NULL DEFAULT 0;
DROP INDEX resource_by_id;
CREATE UNIQUE INDEX resource_by_id ON resource (type, id, collection);
CREATE INDEX resource_by_collection ON resource (collection, type, number, updated) WHERE collection <> 0;
CREATE TABLE tally_by_collection (
  type INTEGER NOT NULL, collection INTEGER NOT NULL, indexed INTEGER NOT NULL, resources INTEGER NOT NULL,
  PRIMARY KEY (type, collection, indexed)
) WITHOUT ROWID;
INSERT INTO tally_by_collection SELECT type, 0, indexed, resources FROM tally;
DROP TABLE tally;
ALTER TABLE tally_by_collection RENAME TO tally;
`

export const migrations: readonly Migration[] = [
  { number: 1, sql: first },
  { number: 2, sql: collections },
]

export const newest = migrations.at(-1)?.number ?? 0
