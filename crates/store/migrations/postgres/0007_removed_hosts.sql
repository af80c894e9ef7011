-- When a host was removed. The row stays, because events, tasks and the timeline refer to its id. NULL for all others.
ALTER TABLE hosts ADD COLUMN removed_at BIGINT;
