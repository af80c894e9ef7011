-- What happened to processes and hosts besides events. `name` and `host` are -1 for none; `host` is -1 also for several, which
-- are packed in `hosts`. Each index ends in `at` (and, unsaid, `id`): it serves one value of its column, newest first.
CREATE TABLE timeline (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    name  INTEGER NOT NULL,
    host  INTEGER NOT NULL,
    hosts BLOB    NOT NULL,
    body  TEXT    NOT NULL
) STRICT;
CREATE INDEX timeline_at ON timeline (at);
CREATE INDEX timeline_name ON timeline (name, at);
CREATE INDEX timeline_host ON timeline (host, at);
