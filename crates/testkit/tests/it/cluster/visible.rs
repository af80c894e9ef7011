//! Read-your-writes over replicas: what one acknowledged, the next read at any other shows.

use serde_json::json;
use testkit::Replicas;

use super::tasks::Daemons;
use crate::fixture::Fixture;

const N_ROUNDS: usize = 50;
const NOT_REGISTERED: &str = "process is not registered";

#[test]
fn every_replica_shows_an_acknowledged_write_at_the_next_read() {
    let cluster = Replicas::start(3);
    let agents = cluster.start_agents(&["10.21.0.1"]);
    for round in 0..N_ROUNDS {
        let from = cluster.api(round % 3);
        let others = [cluster.api((round + 1) % 3), cluster.api((round + 2) % 3)];
        let name = format!("round-{round}");
        let daemons = Daemons::register(&cluster, round % 3, &name, &agents);
        for other in others {
            let row = daemons.0[0].status(other);
            assert_ne!(row["message"], NOT_REGISTERED, "round {round}: {row}");
        }
        // A query: nothing is started.
        let task = daemons.operate(from, 2);
        for other in others {
            let answer = other.esb("get_proc_operate_result", json!({"task_id": task}));
            let target = &answer["data"][&daemons.0[0].key];
            assert!(target["error_code"].is_i64(), "round {round}: {answer}");
        }
        if round % 10 == 9 {
            let ends = others.map(|other| other.ended(&task));
            assert_eq!(ends[0], ends[1], "round {round}");
            forget(from, &daemons.0[0]);
            for other in others {
                let row = daemons.0[0].status(other);
                assert_eq!(row["message"], NOT_REGISTERED, "round {round}: {row}");
            }
        }
    }
}

fn forget(api: &testkit::Api, daemon: &Fixture) {
    let body = json!({"meta": daemon.meta, "hosts": daemon.hosts});
    api.esb_ok("unregister_proc_info", body);
}
