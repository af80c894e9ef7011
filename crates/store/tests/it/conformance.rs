//! Guarantees of both databases. One function per guarantee; each gets a database of its own.

pub mod audit;
pub mod commit;
pub mod config_template;
pub mod event;
pub mod follow;
pub mod job;
pub mod lease;
pub mod load;
pub mod mail;
pub mod purge;
pub mod restored;
pub mod setting;
pub mod task;
pub mod timeline;
pub mod topology;
pub mod version;
pub mod webhook;

/// Makes each guarantee a test on this database.
macro_rules! conformance_tests {
    ($database:expr) => {
        $crate::conformance::conformance_test! { $database =>
            load::a_new_store_is_empty_and_at_revision_0,
            load::replicas_that_open_a_new_store_at_once_share_it,
            load::everything_reads_back_as_it_was_written,
            load::two_connections_read_what_one_reads,
            load::two_connections_never_mix_two_revisions,
            load::everything_survives_closing_and_opening,
            load::audit_and_events_are_not_loaded,
            load::the_last_status_of_each_shard_is_loaded,
            load::a_closed_store_is_unavailable,
            commit::each_commit_takes_the_next_revision,
            commit::a_commit_planned_against_another_revision_writes_nothing,
            commit::writing_everything_twice_changes_nothing,
            commit::of_two_rows_with_one_key_the_later_counts,
            commit::deleted_rows_are_not_loaded,
            commit::an_id_is_reused_after_its_deletion,
            commit::an_id_deleted_and_written_in_one_commit_exists,
            commit::any_number_of_rows_is_written,
            commit::the_largest_ids_are_stored,
            commit::committers_that_race_leave_no_gap,
            commit::a_commit_that_is_abandoned_half_way_is_whole_or_absent,
            commit::a_turn_reads_what_was_committed_before_it_and_commits_next,
            commit::a_turn_that_is_released_or_dropped_commits_nothing,
            commit::a_plan_in_its_turn_is_never_in_vain,
            follow::a_follower_gets_exactly_the_new_changes,
            follow::a_follower_at_the_head_gets_nothing,
            follow::a_follower_ahead_of_the_store_must_load_again,
            follow::an_outcome_of_an_earlier_target_is_followed,
            follow::a_repeated_event_is_not_followed,
            follow::a_row_that_is_written_and_deleted_later_is_gone,
            follow::a_commit_larger_than_a_part_of_the_log_is_followed,
            follow::a_reader_sees_one_state_while_others_commit,
            follow::changes_folded_onto_an_earlier_load_equal_a_fresh_load,
            task::an_open_task_is_loaded_with_all_its_targets_and_outcomes,
            task::an_ended_task_is_not_loaded_but_still_readable,
            task::a_task_is_read_in_the_order_of_its_targets,
            task::a_later_outcome_replaces_an_earlier_one_and_counts_once,
            task::an_outcome_without_a_target_is_dropped,
            task::outcomes_of_many_tasks_in_one_commit_are_counted_separately,
            task::tasks_are_listed_newest_first_in_pages,
            task::tasks_are_found_by_process_operation_caller_state_and_time,
            task::a_reader_of_some_namespaces_sees_tasks_within_them_and_its_own,
            audit::audit_is_read_newest_first_in_pages,
            audit::audit_is_filtered_by_every_field,
            setting::a_setting_keeps_its_first_value,
            setting::replicas_that_race_for_a_setting_agree,
            purge::old_tasks_are_purged_when_all_their_targets_have_ended,
            purge::any_number_of_old_tasks_is_purged,
            purge::purged_log_entries_make_earlier_followers_load_again,
            purge::later_log_entries_stay,
            purge::a_purge_never_goes_beyond_the_head_nor_back,
            purge::expired_logins_are_purged_and_events_stay,
            restored::numbers_continue_far_above_those_that_were_used,
            restored::what_was_under_way_is_ended_or_paused,
            timeline::the_timeline_is_read_newest_first_in_pages,
            timeline::the_timeline_is_filtered_by_everything_at_once,
            timeline::the_old_timeline_is_purged,
            timeline::a_follower_gets_no_timeline,
            version::versions_are_numbered_and_read_newest_first,
            version::the_newest_version_again_adds_none,
            version::the_oldest_versions_are_forgotten_and_their_numbers_not_reused,
            version::a_follower_gets_no_versions,
            event::events_are_counted_by_time_and_value,
            event::events_are_listed_newest_first_in_pages,
            event::events_are_filtered_by_everything_at_once,
            event::events_are_read_on_in_the_order_of_arrival,
            event::events_of_lists_the_new_events_of_a_commit,
            event::old_events_are_purged_and_their_ids_are_not_reused,
            webhook::a_webhook_begins_after_the_existing_events,
            webhook::a_position_moves_only_forward_and_survives_changes_of_its_webhook,
            topology::ids_of_the_view_may_have_gaps_of_any_size,
            topology::changes_of_many_commits_come_in_their_order,
            job::a_finished_job_is_not_loaded_but_still_readable,
            job::a_reopened_job_is_followed_with_all_its_tasks,
            job::tasks_are_counted_by_status_however_often_they_are_written,
            job::a_task_without_a_job_is_dropped,
            job::jobs_are_listed_newest_first_in_pages,
            job::jobs_are_filtered_by_everything_at_once,
            job::old_finished_jobs_are_purged_and_their_ids_are_not_reused,
            config_template::contents_are_read_one_by_one_and_never_as_changes,
            config_template::large_contents_are_written_once_and_never_changed,
            config_template::contents_that_no_file_refers_to_are_purged,
            lease::one_replica_at_a_time_holds_a_lease,
            lease::an_expired_or_released_lease_can_be_taken,
            lease::one_of_many_racing_replicas_gets_a_lease,
            mail::mail_is_read_by_all_but_its_sender_in_order,
            mail::readers_miss_no_mail_of_racing_senders,
            mail::old_mail_is_purged_and_its_ids_are_not_reused,
        }

        #[tokio::test]
        async fn acknowledged_commits_survive_a_kill() {
            $crate::crash::acknowledged_commits_survive_a_kill(&$database).await;
        }
    };
}
pub(crate) use conformance_tests;

macro_rules! conformance_test {
    ($database:expr => $($module:ident::$test_name:ident,)+) => {
        $(
            #[tokio::test]
            async fn $test_name() {
                $crate::conformance::$module::$test_name(&$database).await;
            }
        )+
    };
}
pub(crate) use conformance_test;
