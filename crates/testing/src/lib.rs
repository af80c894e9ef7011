//! What the tests of every crate share: preconditions, waiting for a condition, seeded random numbers, pages made from the code.
//!
//! Small and free of workspace dependencies, so that any crate's tests can use it without building the others.

pub mod precondition;
pub mod random;
pub mod reference;
pub mod wait;

pub use random::Random;
