//! Tests every rule by example, and all of them against a simple second implementation (`slow`).

mod agreement;
mod examples;
mod guide;
mod refusals;
mod selection;
mod slow;
mod speed;
