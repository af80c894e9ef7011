//! What every engine promises. One function per promise; each gets a place of its own.

pub mod audit;
pub mod commit;
pub mod config_template;
pub mod event;
pub mod follow;
pub mod job;
pub mod load;
pub mod purge;
pub mod setting;
pub mod task;
pub mod topology;
pub mod webhook;

/// Makes each promise a test of the engine that the calling module stands for.
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
