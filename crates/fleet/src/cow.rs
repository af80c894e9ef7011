//! Collections that are copied on write: a clone shares its parts with the original, and a change copies only the parts that it
//! touches, once for each clone that still has them.
//!
//! A [`Fleet`](crate::Fleet) is made of these, so that a snapshot of a million processes takes microseconds.

mod map;
mod paged;

pub(crate) use map::CowMap;
pub(crate) use paged::Paged;
