-- Times are nanoseconds since 1970 in UTC. Ids of Prefect are 16 bytes.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cursors (
    name    TEXT PRIMARY KEY,
    value   BLOB NOT NULL,
    changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A small number for each run: every index of the outbox carries it in place of the run's 16 bytes.
CREATE TABLE lanes (
    lane INTEGER PRIMARY KEY,
    run  BLOB NOT NULL UNIQUE CHECK (length(run) = 16)
) STRICT;

CREATE TABLE jobs (
    job       INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    kind      INTEGER,          -- NULL: known as a parent only
    last_run  BLOB,
    last_type TEXT,
    last_time INTEGER,
    good_run  BLOB,             -- the last completed run that named datasets
    good_time INTEGER,
    seen      INTEGER NOT NULL,
    UNIQUE (namespace, name),
    CHECK ((last_run IS NULL) = (last_type IS NULL) AND (last_run IS NULL) = (last_time IS NULL)),
    CHECK ((good_run IS NULL) = (good_time IS NULL))
) STRICT;

CREATE TABLE datasets (
    dataset   INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    seen      INTEGER NOT NULL,
    UNIQUE (namespace, name)
) STRICT;

CREATE TABLE edges (
    job     INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    dataset INTEGER NOT NULL REFERENCES datasets ON DELETE CASCADE,
    output  INTEGER NOT NULL CHECK (output IN (0, 1)),
    run     BLOB NOT NULL CHECK (length(run) = 16),
    seen    INTEGER NOT NULL,
    PRIMARY KEY (job, dataset, output)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_dataset ON edges (dataset, output);

-- Job facets repeat from run to run; each text is kept once.
CREATE TABLE facets (
    facets INTEGER PRIMARY KEY,
    hash   BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    body   BLOB NOT NULL,
    seen   INTEGER NOT NULL
) STRICT;

-- The ledger. Jobs and facets carry no foreign key: their sweep would have to look through the whole ledger for each.
CREATE TABLE told (
    lane       INTEGER PRIMARY KEY REFERENCES lanes,
    kind       INTEGER NOT NULL CHECK (kind IN (1, 2)),
    run_id     BLOB CHECK (length(run_id) = 16),       -- NULL: Prefect's id
    job        INTEGER,
    parent_run BLOB CHECK (length(parent_run) = 16),
    parent_job INTEGER,
    root_run   BLOB CHECK (length(root_run) = 16),
    root_job   INTEGER,
    ancestor   BLOB CHECK (length(ancestor) = 16),
    facets     INTEGER,
    flow_run   BLOB CHECK (length(flow_run) = 16),
    flow       BLOB CHECK (length(flow) = 16),
    deployment BLOB CHECK (length(deployment) = 16),
    phase      INTEGER NOT NULL CHECK (phase IN (0, 1, 2)),
    started    INTEGER,
    end_type   TEXT,
    ended      INTEGER,
    inferred   INTEGER NOT NULL CHECK (inferred IN (0, 1)),
    missed     INTEGER,
    said       INTEGER,          -- when the first event was stored
    checked    INTEGER,          -- when the run was last read by id
    touched    INTEGER NOT NULL, -- when phase or end last changed here: what retention counts from
    CHECK ((parent_run IS NULL) = (parent_job IS NULL)),
    CHECK ((root_run IS NULL) = (root_job IS NULL)),
    CHECK ((end_type IS NULL) = (ended IS NULL)),
    CHECK (phase <> 2 OR end_type IS NOT NULL),
    CHECK (phase = 0 OR said IS NOT NULL)
) STRICT;
CREATE INDEX told_open ON told (said) WHERE phase = 1;
CREATE INDEX told_touched ON told (touched) WHERE phase <> 1;

-- What has been said, whether or not its body is still in the outbox. Given is a bit for each destination's number.
CREATE TABLE keys (
    lane  INTEGER NOT NULL,
    type  TEXT NOT NULL,
    time  INTEGER NOT NULL,
    given BLOB NOT NULL,
    said  INTEGER NOT NULL,
    PRIMARY KEY (lane, type, time)
) STRICT, WITHOUT ROWID;

CREATE TABLE destinations (
    dest       INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE CHECK (name <> ''),
    kind       TEXT NOT NULL,
    after      INTEGER REFERENCES destinations CHECK (after <> dest),
    gone       INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
    parked     INTEGER,          -- when an operator parked it
    registered INTEGER NOT NULL,
    pending    INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0),
    dead       INTEGER NOT NULL DEFAULT 0 CHECK (dead >= 0),
    delivered  INTEGER           -- the last success
) STRICT;

-- Sequence numbers are never used twice: deliveries under way are known by them.
CREATE TABLE events (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    lane      INTEGER NOT NULL REFERENCES lanes,
    ancestor  INTEGER,
    first     INTEGER NOT NULL CHECK (first IN (0, 1)),
    type      TEXT NOT NULL CHECK (type IN ('START', 'RUNNING', 'COMPLETE', 'FAIL', 'ABORT')),
    time      INTEGER NOT NULL,
    run_id    BLOB NOT NULL CHECK (length(run_id) = 16),
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    enqueued  INTEGER NOT NULL,
    codec     INTEGER NOT NULL CHECK (codec IN (0, 1)), -- 0: as it is, 1: DEFLATE
    body      BLOB NOT NULL
) STRICT;
CREATE INDEX events_lane ON events (lane, type, time);
CREATE INDEX events_ancestor ON events (ancestor) WHERE ancestor IS NOT NULL;

-- One row for each event and destination, gone once it is delivered and nothing may want it again.
-- State: 0 waiting for an older row, 1 ready, 2 dead, 3 delivered after a dead letter of its run (a replay sends it
-- again), 4 skipped because the destination before it has it as a dead letter. Below 2 is pending.
CREATE TABLE deliveries (
    seq      INTEGER NOT NULL REFERENCES events,
    dest     INTEGER NOT NULL REFERENCES destinations,
    lane     INTEGER NOT NULL,
    ancestor INTEGER,
    first    INTEGER NOT NULL CHECK (first IN (0, 1)),
    state    INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    due      INTEGER NOT NULL DEFAULT 0, -- 0: at once
    attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    PRIMARY KEY (seq, dest)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_ready ON deliveries (dest, seq) WHERE state = 1 AND due = 0;
CREATE INDEX deliveries_due ON deliveries (dest, due, seq) WHERE state = 1 AND due > 0;
CREATE INDEX deliveries_pending ON deliveries (dest, seq) WHERE state < 2;
CREATE INDEX deliveries_lane ON deliveries (dest, lane, seq) WHERE state < 2;
CREATE INDEX deliveries_first ON deliveries (dest, lane) WHERE first = 1 AND state < 2;
CREATE INDEX deliveries_children ON deliveries (dest, ancestor, lane, seq) WHERE ancestor IS NOT NULL AND state < 2;
CREATE INDEX deliveries_settled ON deliveries (dest, lane, seq) WHERE state >= 2;

-- The last failed attempts of a delivery.
CREATE TABLE tries (
    seq    INTEGER NOT NULL,
    dest   INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    reason TEXT NOT NULL,
    status INTEGER NOT NULL,
    PRIMARY KEY (seq, dest, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    seq    INTEGER NOT NULL,
    dest   INTEGER NOT NULL,
    died   INTEGER NOT NULL,
    reason TEXT NOT NULL,
    status INTEGER NOT NULL,
    answer BLOB NOT NULL CHECK (length(answer) <= 2048),
    UNIQUE (seq, dest),
    FOREIGN KEY (seq, dest) REFERENCES deliveries (seq, dest)
) STRICT;

-- Counts that are asked for often. They change in the transactions that change what they count.
CREATE TABLE totals (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    events INTEGER NOT NULL CHECK (events >= 0),
    bytes  INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
INSERT INTO totals (one, events, bytes) VALUES (1, 0, 0);

CREATE TABLE quarantine (
    row      INTEGER PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    id       TEXT NOT NULL,
    reason   TEXT NOT NULL,
    codec    INTEGER NOT NULL CHECK (codec IN (0, 1)),
    raw      BLOB NOT NULL,
    seen     INTEGER NOT NULL,
    UNIQUE (resource, id)
) STRICT;

CREATE TABLE backfills (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    request  BLOB NOT NULL,
    stage    INTEGER NOT NULL CHECK (stage BETWEEN 0 AND 3),
    created  INTEGER NOT NULL,
    started  INTEGER,
    finished INTEGER,
    progress TEXT NOT NULL DEFAULT '{}',
    err      TEXT NOT NULL DEFAULT '',
    CHECK ((stage >= 2) = (finished IS NOT NULL))
) STRICT;
CREATE INDEX backfills_open ON backfills (id) WHERE stage < 2;
