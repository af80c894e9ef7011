//! The view against a slow and obvious second one: rows in a list, filtered one by one.

mod changes;
mod facets;
mod naive;
mod random;
mod world;
