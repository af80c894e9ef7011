//! Every rule by example, and all of them together against an obvious second implementation.

mod agreement;
mod examples;
mod guide;
mod refusals;
mod selection;
mod slow;
mod speed;
