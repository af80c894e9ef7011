//! PostgreSQL keeps every promise, and some of its own.

use crate::conformance::keeps_every_promise;
use crate::place::Place;

keeps_every_promise!(Place::postgres());
