//! The replicas of an installation.

responses! {
    pub struct ReplicaList {
        /// The one that answers first.
        pub replicas: Vec<ReplicaRow>,
        /// Whether its messages to the others go the fast way.
        pub bus_up: bool,
        /// Whether it reaches the store; if not, it answers with what it knows.
        pub store_up: bool,
    }

    pub struct ReplicaRow {
        /// Another one after each start.
        pub id: String,
        /// Where its API listens.
        pub address: String,
        /// Whether it is the one that answers.
        pub this: bool,
        /// How many agents are connected to it.
        pub agents: usize,
        /// Whether it asks its agents to go elsewhere.
        pub draining: bool,
        /// Whether it does the background work: timeouts, jobs, webhooks, refreshes.
        pub leads: bool,
    }

    pub struct Draining {
        /// Whether it asks its agents to go elsewhere.
        pub draining: bool,
        /// How many agents are still connected to it.
        pub agents: usize,
    }
}
