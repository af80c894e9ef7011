//! Topology from a CMDB: a whole server, and a fake CMDB that fails as the test says.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::IntoResponse;
use axum::{Json, Router, routing};
use model::access::Caller;
use model::topology::{BkProcessId, BusinessId};
use serde_json::{Value, json};
use server::{CmdbConfig, Config, Running};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::rig::{TIMEOUT, config};

const BUSINESS: BusinessId = BusinessId(2);

#[derive(Default)]
struct FakeCmdb {
    processes: Mutex<Vec<Value>>,
    /// How many calls fail before one succeeds.
    n_failures: AtomicU32,
    refuses: AtomicBool,
    pages: Mutex<Paging>,
    calls: Mutex<Vec<String>>,
}

/// How it returns its lists.
#[derive(Default, Clone, Copy, PartialEq)]
enum Paging {
    #[default]
    Correct,
    /// At most so many rows, whatever the limit.
    Short(usize),
    /// Always the first page.
    FirstPage,
    /// With this count.
    Counted(u64),
    /// Each page deletes a row.
    Shrinking,
}

fn row(id: u32, alias: &str, ip: &str) -> Value {
    json!({
        "set": {"bk_set_id": 5, "bk_set_name": "管控平台", "bk_set_env": "3"},
        "module": {"bk_module_id": 21, "bk_module_name": "gse"},
        "host": {"bk_host_id": id, "bk_host_innerip": ip, "bk_cloud_id": 0},
        "service_instance": {"id": id, "name": format!("{ip}_gse")},
        "process_template": {"id": 26},
        "process": {
            "bk_process_id": id, "bk_process_name": alias, "bk_func_name": "gsed", "proc_num": 1,
            "work_path": "/opt/gse", "pid_file": "gsed.pid", "start_cmd": "./start.sh",
        },
    })
}

async fn answer(
    State(cmdb): State<Arc<FakeCmdb>>,
    Path(api): Path<String>,
    Json(body): Json<Value>,
) -> axum::response::Response {
    cmdb.calls.lock().unwrap().push(api.clone());
    let failing = cmdb
        .n_failures
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    if failing.is_ok() {
        return (axum::http::StatusCode::BAD_GATEWAY, "no").into_response();
    }
    let signed = body["bk_app_code"] == "muster" && body["bk_app_secret"] == "secret";
    if !signed || cmdb.refuses.load(Ordering::SeqCst) {
        let refused =
            json!({"result": false, "code": 1_199_000, "message": "no rights", "data": null});
        return Json(refused).into_response();
    }
    let start = body["page"]["start"].as_u64().unwrap_or(0) as usize;
    let limit = body["page"]["limit"].as_u64().unwrap_or(0) as usize;
    let data = match api.as_str() {
        "search_cloud_area" => {
            json!({"count": 1, "info": [{"bk_cloud_id": 0, "bk_cloud_name": "default area"}]})
        }
        "list_process_related_info" => {
            assert!(limit <= 500, "the maximum of a CMDB");
            let mut processes = cmdb.processes.lock().unwrap();
            let (mut start, mut limit, mut count) = (start, limit, processes.len() as u64);
            let pages = *cmdb.pages.lock().unwrap();
            match pages {
                Paging::Correct | Paging::Shrinking => {}
                Paging::Short(most) => limit = limit.min(most),
                Paging::FirstPage => start = 0,
                Paging::Counted(wrong) => count = wrong,
            }
            let page: Vec<Value> = processes.iter().skip(start).take(limit).cloned().collect();
            if pages == Paging::Shrinking {
                processes.remove(0);
            }
            json!({"count": count, "info": page})
        }
        "find_module_batch" => json!([{"bk_module_id": 21, "service_template_id": 77}]),
        other => panic!("{other} is not called"),
    };
    Json(json!({"result": true, "code": 0, "message": "", "data": data})).into_response()
}

async fn start(refresh_every: Duration) -> (Running, Arc<FakeCmdb>, TempDir) {
    let cmdb = Arc::new(FakeCmdb::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let route = "/api/c/compapi/v2/cc/{api}/";
    let router = Router::new()
        .route(route, routing::post(answer))
        .with_state(cmdb.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let folder = TempDir::new().unwrap();
    let config = Config {
        cmdb: Some(CmdbConfig {
            url,
            app_code: "muster".into(),
            app_secret: "secret".into(),
            user_name: "admin".into(),
            refresh_every,
        }),
        ..config(&folder)
    };
    (server::start(config).await.unwrap(), cmdb, folder)
}

fn n_processes(running: &Running) -> usize {
    running.control.inspect_fleet().view().n_processes()
}

#[tokio::test]
async fn a_business_is_read_page_by_page_and_failed_calls_are_retried() {
    let (running, cmdb, _folder) = start(Duration::from_secs(3600)).await;
    *cmdb.processes.lock().unwrap() = many(1203);
    cmdb.n_failures.store(2, Ordering::SeqCst);
    let caller = Caller::system();
    let difference = running
        .control
        .topology()
        .refresh(&caller, BUSINESS)
        .await
        .unwrap();
    assert_eq!(difference.processes.new, 1203);
    assert!(difference.troubles.is_empty(), "{:?}", difference.troubles);
    {
        let fleet = running.control.inspect_fleet();
        let last = fleet.view_row(BkProcessId(1203)).unwrap();
        assert_eq!(
            (last.cloud_name, last.module.service_template),
            (Some("default area"), 77)
        );
        assert_eq!(last.process.process_template, 26);
        assert_eq!(last.instances().len(), 1);
    }
    let calls = cmdb.calls.lock().unwrap().clone();
    let pages = calls
        .iter()
        .filter(|api| *api == "list_process_related_info");
    assert_eq!(pages.count(), 3);
    running.stop().await;
}

#[tokio::test]
async fn a_refused_read_changes_nothing_and_a_bad_row_is_reported() {
    let (running, cmdb, _folder) = start(Duration::from_secs(3600)).await;
    let mut bad = row(2, "two words", "10.0.0.2");
    bad["process"]["work_path"] = json!("relative");
    *cmdb.processes.lock().unwrap() = vec![row(1, "gse_agent", "10.0.0.1"), bad];
    let caller = Caller::system();
    let difference = running
        .control
        .topology()
        .refresh(&caller, BUSINESS)
        .await
        .unwrap();
    assert_eq!(
        difference.troubles.len(),
        1,
        "a bad row is reported, the other counts"
    );
    assert_eq!(difference.troubles[0].row.0, "bk_process_id 2 two words");
    let before = n_processes(&running);
    cmdb.processes.lock().unwrap().clear();
    cmdb.refuses.store(true, Ordering::SeqCst);
    let refused = running
        .control
        .topology()
        .refresh(&caller, BUSINESS)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("no rights"), "{refused}");
    assert_eq!(n_processes(&running), before);
    running.stop().await;
}

#[tokio::test]
async fn a_business_of_the_cmdb_is_refreshed_periodically() {
    let (running, cmdb, _folder) = start(Duration::from_millis(100)).await;
    *cmdb.processes.lock().unwrap() = vec![row(1, "gse_agent", "10.0.0.1")];
    let caller = Caller::system();
    running
        .control
        .topology()
        .refresh(&caller, BUSINESS)
        .await
        .unwrap();
    cmdb.processes
        .lock()
        .unwrap()
        .push(row(2, "gse_data", "10.0.0.1"));
    let refreshed = tokio::time::timeout(TIMEOUT, async {
        while n_processes(&running) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    refreshed.await.expect("it is refreshed");
    running.stop().await;
}

fn many(n: u32) -> Vec<Value> {
    let rows = (1..=n).map(|n| row(n, "gse_agent", &format!("10.0.{}.{}", n / 250, n % 250 + 1)));
    rows.collect()
}

#[tokio::test]
async fn a_list_with_a_wrong_count_or_short_pages_is_read_to_its_end() {
    let (running, cmdb, _folder) = start(Duration::from_secs(3600)).await;
    *cmdb.processes.lock().unwrap() = many(1203);
    let caller = Caller::system();
    for paging in [Paging::Counted(0), Paging::Counted(500), Paging::Short(200)] {
        *cmdb.pages.lock().unwrap() = paging;
        let refreshed = running.control.topology().refresh(&caller, BUSINESS).await;
        refreshed.unwrap();
        assert_eq!(n_processes(&running), 1203);
    }
    running.stop().await;
}

#[tokio::test]
async fn an_incomplete_list_changes_nothing() {
    let (running, cmdb, _folder) = start(Duration::from_secs(3600)).await;
    *cmdb.processes.lock().unwrap() = many(1203);
    let caller = Caller::system();
    let control = &running.control;
    control.topology().refresh(&caller, BUSINESS).await.unwrap();
    for (paging, message) in [
        (Paging::FirstPage, "gives the same rows again"),
        (Paging::Counted(2000), "counts 2000 rows and gives 1203"),
        (Paging::Shrinking, "becomes shorter"),
    ] {
        *cmdb.pages.lock().unwrap() = paging;
        let refused = control.topology().refresh(&caller, BUSINESS).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
        assert_eq!(n_processes(&running), 1203);
    }
    running.stop().await;
}

#[tokio::test]
async fn an_empty_list_does_not_delete_a_business() {
    let (running, cmdb, _folder) = start(Duration::from_secs(3600)).await;
    let caller = Caller::system();
    let control = &running.control;
    let unknown = control.topology().refresh(&caller, BUSINESS).await;
    assert!(
        unknown.unwrap_err().to_string().contains("is not known"),
        "an empty list creates no business"
    );
    assert!(control.topology().businesses(&caller).is_empty());
    *cmdb.processes.lock().unwrap() = many(3);
    control.topology().refresh(&caller, BUSINESS).await.unwrap();
    cmdb.processes.lock().unwrap().clear();
    let refused = control.topology().refresh(&caller, BUSINESS).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("3 are known here"), "{refused}");
    assert_eq!(n_processes(&running), 3);
    // An operator can remove it.
    control.topology().remove(&caller, BUSINESS).await.unwrap();
    assert_eq!(n_processes(&running), 0);
    running.stop().await;
}
