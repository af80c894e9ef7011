//! What every engine promises. One function per promise; each gets a place of its own.

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
pub mod setting;
pub mod task;
pub mod topology;
pub mod webhook;

/// Makes each promise a test of the engine that the place stands for.
macro_rules! keeps_every_promise {
    ($place:expr) => {
        $crate::conformance::keeps! { $place =>
            load::a_new_store_is_empty_and_at_revision_0,
            load::replicas_that_open_a_new_store_at_once_share_it,
            load::everything_reads_back_as_it_was_written,
            load::everything_is_still_there_after_closing_and_opening,
            load::audit_and_events_are_not_loaded,
            load::the_last_status_of_each_shard_is_loaded,
            load::a_closed_store_says_that_it_is_unavailable,
            commit::each_commit_takes_the_next_revision,
            commit::a_commit_planned_against_another_revision_writes_nothing,
            commit::writing_everything_twice_is_as_good_as_once,
            commit::of_two_rows_with_one_key_the_later_counts,
            commit::what_is_gone_is_not_loaded,
            commit::an_id_is_used_again_after_it_is_gone,
            commit::an_id_that_goes_and_comes_in_one_commit_is_there,
            commit::any_number_of_rows_is_written,
            commit::the_largest_ids_are_fine,
            commit::committers_that_race_leave_no_gap,
            commit::a_commit_that_is_abandoned_half_way_is_whole_or_absent,
            follow::a_follower_is_told_everything_that_is_new_and_nothing_else,
            follow::nothing_is_new_at_the_head,
            follow::a_follower_ahead_of_the_store_must_load_again,
            follow::the_outcome_of_an_old_target_is_new,
            follow::a_repeated_event_is_not_news,
            follow::a_row_that_is_written_and_deleted_later_is_gone,
            follow::a_commit_larger_than_a_part_of_the_log_is_followed,
            follow::a_reader_sees_one_state_while_others_commit,
            follow::changes_folded_onto_an_earlier_load_equal_a_fresh_load,
            task::an_open_task_is_loaded_with_all_its_targets_and_outcomes,
            task::an_ended_task_is_not_loaded_but_still_there,
            task::a_task_is_read_in_the_order_of_its_targets,
            task::a_later_outcome_replaces_an_earlier_one_and_counts_once,
            task::an_outcome_without_a_target_is_dropped,
            task::outcomes_of_many_tasks_in_one_commit_are_counted_apart,
            task::tasks_are_listed_newest_first_in_pages,
            audit::audit_is_read_newest_first_in_pages,
            audit::audit_is_filtered_by_who_what_where_and_when,
            setting::a_setting_keeps_its_first_value,
            setting::replicas_that_race_for_a_setting_agree,
            purge::old_tasks_go_when_all_their_targets_have_ended,
            purge::any_number_of_old_tasks_goes_at_once,
            purge::purged_log_entries_make_earlier_followers_load_again,
            purge::later_log_entries_stay,
            purge::a_purge_never_goes_beyond_the_head_nor_back,
            purge::expired_logins_go_and_events_stay,
            event::events_are_listed_newest_first_in_pages,
            event::events_are_filtered_by_everything_at_once,
            event::events_are_read_on_in_the_order_of_arrival,
            event::a_commit_says_which_events_it_brought,
            event::old_events_go_and_their_ids_are_not_used_again,
            webhook::a_webhook_begins_after_the_events_that_were_there,
            webhook::a_position_only_moves_forward_and_outlives_changes_of_its_webhook,
            topology::ids_of_the_view_may_have_gaps_of_any_size,
            topology::changes_of_many_commits_come_in_their_order,
            job::a_job_that_is_over_is_not_loaded_but_still_there,
            job::a_job_that_goes_on_again_comes_with_all_its_tasks,
            job::tasks_are_counted_by_status_however_often_they_are_written,
            job::a_task_without_a_job_is_dropped,
            job::jobs_are_listed_newest_first_in_pages,
            job::jobs_are_filtered_by_everything_at_once,
            job::old_jobs_go_when_they_are_over_and_their_ids_are_not_used_again,
            config_template::contents_are_read_one_by_one_and_never_as_changes,
            config_template::large_contents_are_written_and_what_is_there_stays,
            config_template::contents_that_no_file_refers_to_are_purged,
            lease::one_at_a_time_holds_a_lease,
            lease::a_lease_that_ran_out_or_was_released_goes_to_the_next,
            lease::of_many_who_race_for_a_lease_one_has_it,
            mail::letters_are_read_by_all_but_their_sender_in_order,
            mail::readers_miss_no_letter_of_senders_that_race,
            mail::old_letters_go_and_their_ids_are_not_used_again,
        }

        #[tokio::test]
        async fn whatever_was_acknowledged_survives_a_kill() {
            $crate::crash::whatever_was_acknowledged_survives_a_kill(&$place).await;
        }
    };
}
pub(crate) use keeps_every_promise;

macro_rules! keeps {
    ($place:expr => $($noun:ident::$promise:ident,)+) => {
        $(
            #[tokio::test]
            async fn $promise() {
                $crate::conformance::$noun::$promise(&$place).await;
            }
        )+
    };
}
pub(crate) use keeps;
