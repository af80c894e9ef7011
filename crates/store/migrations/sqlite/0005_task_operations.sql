-- The different operations of each task, so that tasks are found by process and operation without reading their targets.
CREATE TABLE task_operations (
    task      INTEGER NOT NULL,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    op        INTEGER NOT NULL,
    PRIMARY KEY (task, namespace, name, op)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_operations_process ON task_operations (namespace, name, task);
INSERT INTO task_operations
    SELECT DISTINCT task, substr(process, 1, instr(process, '/') - 1), substr(process, instr(process, '/') + 1), op FROM targets;

-- The task whose failed targets a task repeats.
ALTER TABLE tasks ADD COLUMN retries INTEGER;
