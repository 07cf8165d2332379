/**
 * The tables, by number. A migration that was released is never changed: the next change is the next number.
 * Everything stands in one schema, which the connection has as its search path.
 */
export interface Migration {
  readonly number: number
  readonly sql: string
}

/** Rows that are written often and live briefly: vacuumed by their number, not by a share of a table that may be large. */
const busy = `autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000, autovacuum_analyze_scale_factor = 0.05`

/** What both parts of the entity table have. */
function indexesOf(part: string): string {
  const labels = [0, 1, 2, 3]
    .map(
      (label) => `CREATE INDEX ${part}_label${label} ON ${part} (label${label}, id) WHERE label${label} IS NOT NULL;`,
    )
    .join('\n')
  return `
ALTER TABLE ${part} ADD PRIMARY KEY (id);
CREATE INDEX ${part}_plan ON ${part} (plan, at) WHERE plan IS NOT NULL;
CREATE INDEX ${part}_lane ON ${part} (lane, state, id);
CREATE UNIQUE INDEX ${part}_source ON ${part} (source, ordinal) WHERE source IS NOT NULL;
CREATE INDEX ${part}_reason ON ${part} (lane, reason, id) WHERE reason IS NOT NULL;
${labels}`
}

const first = `
-- What is noted for all: the latest time that was seen, and how often machines were declared.
CREATE TABLE counter (name text PRIMARY KEY, value int8 NOT NULL);
INSERT INTO counter (name, value) VALUES ('time', 0), ('machines', 0);

-- Names that stand in many rows are kept once.
CREATE TABLE word (id int4 PRIMARY KEY GENERATED ALWAYS AS IDENTITY, text text NOT NULL UNIQUE);
CREATE TABLE machine (
  id int4 PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL, version int4 NOT NULL,
  digest text, labels text NOT NULL DEFAULT '[]', declaration text,
  UNIQUE (name, version)
);
CREATE TABLE path (id int4 PRIMARY KEY GENERATED ALWAYS AS IDENTITY, cause text NOT NULL, hops text NOT NULL, UNIQUE (cause, hops));

CREATE SEQUENCE entity_id;
CREATE SEQUENCE worker_id;
CREATE SEQUENCE hold_id;
CREATE SEQUENCE staging_id;
-- Positions of the feed. Drawn once here, so that the last value is always one that was drawn.
CREATE SEQUENCE feed_position;
SELECT nextval('feed_position');

-- In two parts: what there is something to do about, and what is at rest (cold). Finished entities leave the part that workers read,
-- so that it and its indexes stay as small as the work at hand.
-- The part with work has room in every page for a second version of each row: a claim then writes that, and no index.
-- line and rank: where it waits; they stay as they are while somebody has its lease (owner), so that a claim writes no index.
-- plan: its wait is for a time to come (1 to run, 2 to look at children, 3 a timer, 4 retention); then 'at' is that time.
-- wait: 0 nothing, 1 run, 2 run behind a gate, 3 children, 4 time, 5 purge. standing: the order over its own lanes.
-- trail: its latest moves, one JSON array each; older ones are in history.
CREATE TABLE entity (
  id int8 NOT NULL, rank float8, at int8, lane int8 NOT NULL, source int8, ordinal int8, staging int8,
  created_at int8 NOT NULL, changed_at int8 NOT NULL, priority float8 NOT NULL,
  line int4, owner int4, machine int4 NOT NULL, state int4 NOT NULL, born int4 NOT NULL,
  seq int4 NOT NULL, epoch int4 NOT NULL, generation int4 NOT NULL, attempts int4 NOT NULL, suspect int4 NOT NULL,
  wait int2 NOT NULL, plan int2, standing int2 NOT NULL, labels int2 NOT NULL, settled bool NOT NULL, cold bool NOT NULL,
  label0 text, label1 text, label2 text, label3 text, reason text, sums text, key text, shares text, more text, created_by text,
  trail text NOT NULL, data text NOT NULL
) PARTITION BY LIST (cold);
CREATE TABLE entity_hot PARTITION OF entity FOR VALUES IN (false) WITH (fillfactor = 45, ${busy});
CREATE TABLE entity_cold PARTITION OF entity FOR VALUES IN (true);
${indexesOf('entity_hot')}
${indexesOf('entity_cold')}
CREATE INDEX entity_hot_line ON entity_hot (line, rank, id) WHERE rank IS NOT NULL;

-- Which entities a worker has claimed, by claim, as runs of ids: found again when it dies, without an index that every claim would have to write.
CREATE TABLE claimed (
  worker int4 NOT NULL, number int8 NOT NULL GENERATED ALWAYS AS IDENTITY, firsts int8[] NOT NULL, counts int4[] NOT NULL,
  PRIMARY KEY (worker, number)
) WITH (
  -- Few rows, but large ones.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_cost_delay = 0
);

-- awaited: its parent waits for children, so a wake number that is ahead makes the parent due.
-- hidden: only staged children were written so far, which nobody sees.
CREATE TABLE lane (
  id int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY, parent int8, name text NOT NULL, machine int4,
  counts text NOT NULL, total int8 NOT NULL, open int8 NOT NULL, reasons text NOT NULL, sums text NOT NULL,
  wake int8 NOT NULL, seen int8 NOT NULL, watches text NOT NULL, entered text NOT NULL,
  gate text NOT NULL, status text NOT NULL, awaited bool NOT NULL, hidden bool NOT NULL,
  UNIQUE NULLS NOT DISTINCT (parent, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX lane_due ON lane (parent) WHERE awaited AND wake > seen;
CREATE INDEX lane_machine ON lane (machine, name);

-- Where entities wait to run, in the order of (rank, id). A line that is shut or idle (empty when last looked at) costs a claim nothing.
CREATE TABLE line (
  id int4 PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL UNIQUE, kind text NOT NULL, suspect bool NOT NULL,
  machine int4 NOT NULL, state int4 NOT NULL, edge int4 NOT NULL,
  lane int8, gated bool NOT NULL, staging int8, hold int4, holdable bool NOT NULL, pool text,
  shut bool NOT NULL, idle bool NOT NULL
);
CREATE INDEX line_run ON line (machine, state, edge) WHERE NOT shut AND NOT idle AND kind <> 'shared';
CREATE INDEX line_lane ON line (lane) WHERE lane IS NOT NULL;

-- One row per source whose staged children are not published; what they will add to each lane.
CREATE TABLE staging (id int8 PRIMARY KEY, source int8 NOT NULL UNIQUE, births text NOT NULL, lanes text NOT NULL);

-- Moves that no longer stand in the entity's own row: JSON arrays, from the number of the first.
CREATE TABLE history (entity int8 NOT NULL, first int4 NOT NULL, records text NOT NULL, PRIMARY KEY (entity, first));

-- One row per group of changes: its verdicts, for whoever lost the answer, and what changed, for the feed.
-- position: drawn when everything else is done, so that whoever saw or waited for another's change stands behind it.
CREATE TABLE operation (position int8 PRIMARY KEY, name text UNIQUE, at int8 NOT NULL, verdicts text, changes text NOT NULL)
  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE hold (
  id int4 PRIMARY KEY, scope text NOT NULL, reason text NOT NULL, owner text NOT NULL, until int8, since int8 NOT NULL, set_by text
);
CREATE TABLE past_hold (
  id int4 PRIMARY KEY, scope text NOT NULL, reason text NOT NULL, owner text NOT NULL, until int8, since int8 NOT NULL,
  set_by text, ended_at int8 NOT NULL, ended_by text
);
CREATE INDEX past_hold_ended ON past_hold (ended_at, id);

-- Pools named key:… have no row: they are of 1, and their share says all.
CREATE TABLE pool (name text PRIMARY KEY, ceiling float8 NOT NULL, taken float8 NOT NULL, turns int8 NOT NULL)
  WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE pool_share (
  pool text NOT NULL, entity int8 NOT NULL, amount float8 NOT NULL, turn int8 NOT NULL, PRIMARY KEY (pool, entity)
);
CREATE UNIQUE INDEX pool_share_key ON pool_share (pool) WHERE pool LIKE 'key:%';

CREATE TABLE worker (
  id int4 PRIMARY KEY, identity text NOT NULL, started_at int8 NOT NULL, renewed_at int8 NOT NULL, expires_at int8 NOT NULL
) WITH (fillfactor = 50);

-- purged_at is null while the tree is being removed.
CREATE TABLE tombstone (
  id int8 PRIMARY KEY, machine text NOT NULL, version int4 NOT NULL, state text NOT NULL, key text,
  data text NOT NULL, lanes text NOT NULL, created_at int8 NOT NULL, purged_at int8
);
CREATE INDEX tombstone_purging ON tombstone (id) WHERE purged_at IS NULL;
`

export const migrations: readonly Migration[] = [{ number: 1, sql: first }]

export const newest = migrations.at(-1)?.number ?? 0
