-- Replicas follow by the commit log: one entry for each commit, its rows and deleted keys in a form of its own, in parts of
-- about a megabyte. An id is revision * 2^20 + the number of the part. `mark` tells a commit from another one that would have
-- taken the same revision. Tables no longer need the revision of a row, nor tombstones.
CREATE TABLE commit_log (
    id   INTEGER PRIMARY KEY,
    mark INTEGER NOT NULL,
    body BLOB    NOT NULL
) STRICT;
-- Followers from before must load everything.
UPDATE revision SET purged_through = head WHERE one = 1;

DELETE FROM definitions WHERE gone = 1;
DELETE FROM processes WHERE gone = 1;
DELETE FROM process_groups WHERE gone = 1;
DELETE FROM apps WHERE gone = 1;
DELETE FROM users WHERE gone = 1;
DELETE FROM join_tokens WHERE gone = 1;
DELETE FROM logins WHERE gone = 1;
DELETE FROM webhooks WHERE gone = 1;
DELETE FROM businesses WHERE gone = 1;
DELETE FROM clouds WHERE gone = 1;
DELETE FROM sets WHERE gone = 1;
DELETE FROM modules WHERE gone = 1;
DELETE FROM machines WHERE gone = 1;
DELETE FROM programs WHERE gone = 1;
DELETE FROM services WHERE gone = 1;
DELETE FROM view_processes WHERE gone = 1;
DELETE FROM config_templates WHERE gone = 1;
DELETE FROM template_versions WHERE gone = 1;
DELETE FROM config_files WHERE gone = 1;

DROP INDEX hosts_revision;
DROP INDEX names_revision;
DROP INDEX definitions_revision;
DROP INDEX processes_revision;
DROP INDEX process_groups_revision;
DROP INDEX tasks_revision;
DROP INDEX targets_revision;
DROP INDEX outcomes_revision;
DROP INDEX businesses_revision;
DROP INDEX clouds_revision;
DROP INDEX sets_revision;
DROP INDEX modules_revision;
DROP INDEX machines_revision;
DROP INDEX programs_revision;
DROP INDEX services_revision;
DROP INDEX view_processes_revision;
DROP INDEX jobs_revision;
DROP INDEX job_tasks_revision;
DROP INDEX config_templates_revision;
DROP INDEX template_versions_revision;
DROP INDEX config_files_revision;
DROP INDEX events_revision;
DROP INDEX logins_revision;
DROP INDEX processes_gone;
DROP INDEX machines_gone;
DROP INDEX programs_gone;
DROP INDEX services_gone;
DROP INDEX view_processes_gone;
DROP INDEX config_files_gone;

ALTER TABLE definitions DROP COLUMN revision;
ALTER TABLE processes DROP COLUMN revision;
ALTER TABLE process_groups DROP COLUMN revision;
ALTER TABLE apps DROP COLUMN revision;
ALTER TABLE users DROP COLUMN revision;
ALTER TABLE join_tokens DROP COLUMN revision;
ALTER TABLE logins DROP COLUMN revision;
ALTER TABLE webhooks DROP COLUMN revision;
ALTER TABLE businesses DROP COLUMN revision;
ALTER TABLE clouds DROP COLUMN revision;
ALTER TABLE sets DROP COLUMN revision;
ALTER TABLE modules DROP COLUMN revision;
ALTER TABLE machines DROP COLUMN revision;
ALTER TABLE programs DROP COLUMN revision;
ALTER TABLE services DROP COLUMN revision;
ALTER TABLE view_processes DROP COLUMN revision;
ALTER TABLE config_templates DROP COLUMN revision;
ALTER TABLE template_versions DROP COLUMN revision;
ALTER TABLE config_files DROP COLUMN revision;
ALTER TABLE hosts DROP COLUMN revision;
ALTER TABLE names DROP COLUMN revision;
ALTER TABLE tasks DROP COLUMN revision;
ALTER TABLE targets DROP COLUMN revision;
ALTER TABLE outcomes DROP COLUMN revision;
ALTER TABLE jobs DROP COLUMN revision;
ALTER TABLE job_tasks DROP COLUMN revision;
ALTER TABLE events DROP COLUMN revision;
ALTER TABLE audit DROP COLUMN revision;
ALTER TABLE definitions DROP COLUMN gone;
ALTER TABLE processes DROP COLUMN gone;
ALTER TABLE process_groups DROP COLUMN gone;
ALTER TABLE apps DROP COLUMN gone;
ALTER TABLE users DROP COLUMN gone;
ALTER TABLE join_tokens DROP COLUMN gone;
ALTER TABLE logins DROP COLUMN gone;
ALTER TABLE webhooks DROP COLUMN gone;
ALTER TABLE businesses DROP COLUMN gone;
ALTER TABLE clouds DROP COLUMN gone;
ALTER TABLE sets DROP COLUMN gone;
ALTER TABLE modules DROP COLUMN gone;
ALTER TABLE machines DROP COLUMN gone;
ALTER TABLE programs DROP COLUMN gone;
ALTER TABLE services DROP COLUMN gone;
ALTER TABLE view_processes DROP COLUMN gone;
ALTER TABLE config_templates DROP COLUMN gone;
ALTER TABLE template_versions DROP COLUMN gone;
ALTER TABLE config_files DROP COLUMN gone;
