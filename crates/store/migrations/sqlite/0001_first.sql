-- Everything that must survive. Times are milliseconds since 1970; `revision` is the commit that last changed a row;
-- `gone` marks a tombstone, kept until `purge`. Names avoid the words that PostgreSQL reserves.

CREATE TABLE revision (
    one            INTEGER PRIMARY KEY CHECK (one = 1),
    head           INTEGER NOT NULL,
    purged_through INTEGER NOT NULL
) STRICT;
INSERT INTO revision (one, head, purged_through) VALUES (1, 0, 0);

CREATE TABLE hosts (
    id          INTEGER PRIMARY KEY,
    cloud       INTEGER NOT NULL,
    ip          TEXT    NOT NULL,
    agent_id    TEXT,
    enrolled_at INTEGER NOT NULL,
    revision    INTEGER NOT NULL
) STRICT;
CREATE INDEX hosts_revision ON hosts (revision);

CREATE TABLE names (
    id        INTEGER PRIMARY KEY,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    revision  INTEGER NOT NULL
) STRICT;
CREATE INDEX names_revision ON names (revision);

CREATE TABLE definitions (
    id       INTEGER PRIMARY KEY,
    name     INTEGER NOT NULL,
    spec     TEXT    NOT NULL,
    labels   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT;
CREATE INDEX definitions_revision ON definitions (revision);

-- The big one: numbers only.
CREATE TABLE processes (
    id            INTEGER PRIMARY KEY,
    host          INTEGER NOT NULL,
    name          INTEGER NOT NULL,
    definition    INTEGER NOT NULL,
    flag          INTEGER NOT NULL,
    managed       INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    incarnation   INTEGER NOT NULL,
    owner         INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    gone          INTEGER NOT NULL
) STRICT;
CREATE INDEX processes_revision ON processes (revision);
CREATE INDEX processes_gone ON processes (revision) WHERE gone = 1;

CREATE TABLE process_groups (
    host      INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    gone      INTEGER NOT NULL,
    PRIMARY KEY (host, namespace)
) STRICT, WITHOUT ROWID;
CREATE INDEX process_groups_revision ON process_groups (revision);

-- The counts follow targets and outcomes, so that open tasks and summaries need not read those.
CREATE TABLE tasks (
    id         INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    app        TEXT    NOT NULL,
    user_name  TEXT    NOT NULL,
    n_targets  INTEGER NOT NULL DEFAULT 0,
    n_ended    INTEGER NOT NULL DEFAULT 0,
    n_ok       INTEGER NOT NULL DEFAULT 0,
    revision   INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_revision ON tasks (revision);
CREATE INDEX tasks_open ON tasks (id) WHERE n_ended < n_targets;

CREATE TABLE targets (
    task       INTEGER NOT NULL,
    ordinal    INTEGER NOT NULL,
    op         INTEGER NOT NULL,
    host       INTEGER,
    process    TEXT    NOT NULL,
    key_prefix TEXT    NOT NULL,
    probe      TEXT,
    deadline   INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX targets_revision ON targets (revision);

CREATE TABLE outcomes (
    task     INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    code     INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcomes_revision ON outcomes (revision);

-- AUTOINCREMENT: ids rise in the order of arrival and are never used again, so a reader's position stays right.
-- Each index ends in `at` (and, unsaid, `id`): it serves one value of its column, newest first.
CREATE TABLE events (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    host      INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    UNIQUE (host, seq)
) STRICT;
CREATE INDEX events_revision ON events (revision);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_host ON events (host, at);
CREATE INDEX events_namespace ON events (namespace, at);
CREATE INDEX events_namespace_kind ON events (namespace, kind, at);
CREATE INDEX events_name ON events (name, namespace, at);
CREATE INDEX events_kind ON events (kind, at);

-- `delivered` is the id of the last event that a webhook need not be told again. It moves without a commit.
CREATE TABLE webhooks (
    id        TEXT    PRIMARY KEY,
    body      TEXT    NOT NULL,
    delivered INTEGER NOT NULL,
    revision  INTEGER NOT NULL,
    gone      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    id       TEXT    PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id       TEXT    PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE join_tokens (
    id       TEXT    PRIMARY KEY,
    body     TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    gone     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE logins (
    token_sha256 BLOB    PRIMARY KEY,
    user_name    TEXT    NOT NULL,
    expires_at   INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    gone         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX logins_revision ON logins (revision);

-- AUTOINCREMENT: an id is never used again, so paging by id stays right.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    app        TEXT    NOT NULL,
    user_name  TEXT    NOT NULL,
    from_addr  TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    object     TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    revision   INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    id   TEXT PRIMARY KEY,
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Soft state: the last snapshot of each shard of statuses.
CREATE TABLE status (
    shard INTEGER PRIMARY KEY,
    body  BLOB NOT NULL
) STRICT;
