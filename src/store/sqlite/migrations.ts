/**
 * The tables, by number. A migration that was released is never changed: the next change is the next number.
 * `user_version` of the file is the number of the last one that was applied.
 */
export interface Migration {
  readonly number: number
  readonly sql: string
}

/** "SLUI": tells our files from those of other programs. */
export const applicationId = 0x534c_5549

const first = `
-- Numbers that are never given twice, and the latest time that was seen.
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter (name, value) VALUES ('entity', 0), ('worker', 0), ('hold', 0), ('staging', 0), ('time', 0);

-- Names that stand in many rows are kept once: a state costs its rows and indexes one byte.
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE machine (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL,
  digest TEXT, labels TEXT NOT NULL DEFAULT '[]', declaration TEXT,
  UNIQUE (name, version)
);
CREATE TABLE path (id INTEGER PRIMARY KEY, cause TEXT NOT NULL, hops TEXT NOT NULL, UNIQUE (cause, hops));

-- line and rank: where it stands. Positive line: it waits in that line. Negative: the worker of that number has its lease.
-- plan: its wait is for a time to come (1 to run, 2 to look at children, 3 a timer, 4 retention); then 'at' is that time.
-- wait: 0 nothing, 1 run, 2 run behind a gate, 3 children, 4 time, 5 purge. standing: the order over its own lanes.
-- data stands last, so that a row with long data is read only as far as needed.
CREATE TABLE entity (
  id INTEGER PRIMARY KEY, line INTEGER, rank INTEGER,
  machine INTEGER NOT NULL, state INTEGER NOT NULL, born INTEGER NOT NULL,
  seq INTEGER NOT NULL, epoch INTEGER NOT NULL, generation INTEGER NOT NULL, settled INTEGER NOT NULL,
  attempts INTEGER NOT NULL, suspect INTEGER NOT NULL,
  lane INTEGER NOT NULL, source INTEGER, ordinal INTEGER, staging INTEGER,
  labels INTEGER NOT NULL, label0 TEXT, label1 TEXT, label2 TEXT, label3 TEXT,
  priority INTEGER NOT NULL, wait INTEGER NOT NULL, at INTEGER, plan INTEGER, standing INTEGER NOT NULL,
  reason TEXT, sums TEXT, key TEXT, shares TEXT, more TEXT,
  created_at INTEGER NOT NULL, created_by TEXT, changed_at INTEGER NOT NULL, data TEXT NOT NULL
);
CREATE INDEX entity_line ON entity (line, rank, id) WHERE rank IS NOT NULL;
CREATE INDEX entity_plan ON entity (plan, at) WHERE plan IS NOT NULL;
CREATE INDEX entity_lane ON entity (lane, state, id);
CREATE UNIQUE INDEX entity_source ON entity (source, ordinal) WHERE source IS NOT NULL;
CREATE INDEX entity_label0 ON entity (label0, id) WHERE label0 IS NOT NULL;
CREATE INDEX entity_label1 ON entity (label1, id) WHERE label1 IS NOT NULL;
CREATE INDEX entity_label2 ON entity (label2, id) WHERE label2 IS NOT NULL;
CREATE INDEX entity_label3 ON entity (label3, id) WHERE label3 IS NOT NULL;

-- awaited: its parent waits for children, so a wake number that is ahead makes the parent due.
-- hidden: only staged children were written so far, which nobody sees.
CREATE TABLE lane (
  id INTEGER PRIMARY KEY, parent INTEGER, name TEXT NOT NULL, machine INTEGER,
  counts TEXT NOT NULL, total INTEGER NOT NULL, open INTEGER NOT NULL, reasons TEXT NOT NULL, sums TEXT NOT NULL,
  wake INTEGER NOT NULL, seen INTEGER NOT NULL, watches TEXT NOT NULL, entered TEXT NOT NULL,
  gate TEXT NOT NULL, status TEXT NOT NULL, awaited INTEGER NOT NULL, hidden INTEGER NOT NULL
);
CREATE UNIQUE INDEX lane_parent ON lane (parent, name);
CREATE INDEX lane_due ON lane (parent) WHERE awaited = 1 AND wake > seen;

-- Where entities wait to run, in the order of (rank, id). A line that is shut or idle (empty when last looked at) costs a claim nothing.
CREATE TABLE line (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, suspect INTEGER NOT NULL,
  machine INTEGER NOT NULL, state INTEGER NOT NULL, edge INTEGER NOT NULL,
  lane INTEGER, gated INTEGER NOT NULL, staging INTEGER, hold INTEGER, holdable INTEGER NOT NULL, pool TEXT,
  shut INTEGER NOT NULL, idle INTEGER NOT NULL
);
CREATE INDEX line_run ON line (machine, state, edge) WHERE shut = 0 AND idle = 0;
CREATE INDEX line_lane ON line (lane) WHERE lane IS NOT NULL;
CREATE INDEX line_staging ON line (staging) WHERE staging IS NOT NULL;

-- One row per source whose staged children are not published; what they will add to each lane.
CREATE TABLE staging (id INTEGER PRIMARY KEY, source INTEGER NOT NULL UNIQUE, births TEXT NOT NULL);
CREATE TABLE staging_lane (
  staging INTEGER NOT NULL, lane INTEGER NOT NULL, figures TEXT NOT NULL, PRIMARY KEY (staging, lane)
) WITHOUT ROWID;

CREATE TABLE history (
  entity INTEGER NOT NULL, seq INTEGER NOT NULL, epoch INTEGER NOT NULL, generation INTEGER NOT NULL,
  at INTEGER NOT NULL, path INTEGER NOT NULL, actor TEXT, error TEXT, PRIMARY KEY (entity, seq)
) WITHOUT ROWID;

-- One row per group of changes: its verdicts, for whoever lost the answer, and what changed, for the feed.
CREATE TABLE operation (
  position INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, at INTEGER NOT NULL, verdicts TEXT, changes TEXT NOT NULL
);

CREATE TABLE hold (
  id INTEGER PRIMARY KEY, scope TEXT NOT NULL, reason TEXT NOT NULL, owner TEXT NOT NULL, until INTEGER, since INTEGER NOT NULL
);

-- Pools named key:… have no row: they are of 1, and their share says all.
CREATE TABLE pool (
  name TEXT PRIMARY KEY, ceiling INTEGER NOT NULL, taken INTEGER NOT NULL, turns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE pool_share (
  pool TEXT NOT NULL, entity INTEGER NOT NULL, amount INTEGER NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY (pool, entity)
) WITHOUT ROWID;

CREATE TABLE worker (
  id INTEGER PRIMARY KEY, identity TEXT NOT NULL, started_at INTEGER NOT NULL, renewed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
);

-- purged_at is null while the tree is being removed.
CREATE TABLE tombstone (
  id INTEGER PRIMARY KEY, machine TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL, key TEXT,
  data TEXT NOT NULL, lanes TEXT NOT NULL, created_at INTEGER NOT NULL, purged_at INTEGER
);
CREATE INDEX tombstone_purging ON tombstone (id) WHERE purged_at IS NULL;
`

const second = `
-- Who set a hold, and, once it has ended, when and by whom. Null in ended_by: by itself.
ALTER TABLE hold ADD COLUMN set_by TEXT;
CREATE TABLE past_hold (
  id INTEGER PRIMARY KEY, scope TEXT NOT NULL, reason TEXT NOT NULL, owner TEXT NOT NULL, until INTEGER, since INTEGER NOT NULL,
  set_by TEXT, ended_at INTEGER NOT NULL, ended_by TEXT
);
CREATE INDEX past_hold_ended ON past_hold (ended_at, id);

-- Failures by reason: few rows have one, and people ask for them first.
CREATE INDEX entity_reason ON entity (lane, reason, id) WHERE reason IS NOT NULL;
`

export const migrations: readonly Migration[] = [
  { number: 1, sql: first },
  { number: 2, sql: second },
]

export const newest = migrations.at(-1)?.number ?? 0
