-- The different operations of each task, so that tasks are found by process and operation without reading their targets.
CREATE TABLE task_operations (
    task      BIGINT           NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    op        BIGINT           NOT NULL,
    PRIMARY KEY (task, namespace, name, op)
);
CREATE INDEX task_operations_process ON task_operations (namespace, name, task);
INSERT INTO task_operations
    SELECT DISTINCT task, substr(process, 1, strpos(process, '/') - 1), substr(process, strpos(process, '/') + 1), op FROM targets;

-- The task whose failed targets a task repeats.
ALTER TABLE tasks ADD COLUMN retries BIGINT;
