-- The versions of a process: the definitions that were asked for under its name, numbered from 1. `job` is the job that brings
-- the version to hosts, and `restores` the version whose definition it is again; NULL for none.
CREATE TABLE versions (
    name      INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    source    TEXT    NOT NULL,
    app       TEXT    NOT NULL,
    user_name TEXT    NOT NULL,
    job       INTEGER,
    restores  INTEGER,
    spec      TEXT    NOT NULL,
    labels    TEXT    NOT NULL,
    PRIMARY KEY (name, number)
) STRICT, WITHOUT ROWID;

-- What is registered already, except instances of a business: the newest 50 definitions of each process.
INSERT INTO versions (name, number, at, source, app, user_name, job, restores, spec, labels)
SELECT name, row_number() OVER (PARTITION BY name ORDER BY id), 0, 'register', '', '', NULL, NULL, spec, labels
FROM (
    SELECT d.id, d.name, d.spec, d.labels, row_number() OVER (PARTITION BY d.name ORDER BY d.id DESC) AS age
    FROM definitions AS d
    WHERE d.id IN (SELECT p.definition FROM processes AS p WHERE p.owner < 0)
) AS registered
WHERE age <= 50;
