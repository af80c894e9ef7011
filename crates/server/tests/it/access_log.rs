//! The access log: one line per request with caller, endpoint and code, and never a secret.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::rig::{APP, Rig, SECRET, target};

/// Every event as a line of `field=value`.
#[derive(Clone, Default)]
struct RecordedLines(Arc<Mutex<Vec<String>>>);

impl Subscriber for RecordedLines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Line(String);
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, "{}={value:?} ", field.name()).unwrap();
            }
        }
        let mut line = Line(format!("{} ", event.metadata().target()));
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_request_is_one_line_without_secrets() {
    let rig = Rig::new().await;
    let lines = RecordedLines::default();
    // The server runs on this thread, so its lines are recorded, too.
    let guard = tracing::subscriber::set_default(lines.clone());
    let mut body = target();
    body["bk_app_code"] = json!(APP);
    body["bk_app_secret"] = json!(SECRET);
    body["bk_username"] = json!("alice");
    let headers = [("X-Bkapi-Request-Id", "trace-1")];
    let text = body.to_string();
    rig.send(
        "POST",
        "/v2/gse/get_proc_status/",
        &headers,
        text.as_bytes(),
    )
    .await;
    rig.native("GET", "/processes", serde_json::Value::Null)
        .await;
    let path = format!("/procapi/v1/proc/status?bk_app_code={APP}&bk_app_secret=wrong-{SECRET}");
    rig.send("GET", &path, &[], b"{}").await;
    drop(guard);
    let lines = lines.0.lock().unwrap();
    assert!(
        lines.iter().all(|line| !line.contains(SECRET)),
        "{lines:#?}"
    );
    let answered: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("muster::http"))
        .collect();
    assert_eq!(answered.len(), 3, "{answered:#?}");
    for (line, parts) in answered.iter().zip([
        [
            "request_id=trace-1",
            "dialect=\"esb\"",
            "endpoint=get_proc_status",
            "app=demo",
            "user=alice",
            "code=0",
        ],
        [
            "request_id=",
            "dialect=\"native\"",
            "endpoint=/api/v1/processes",
            "app=demo",
            "user=alice",
            "code=200",
        ],
        [
            "request_id=",
            "dialect=\"pms\"",
            "endpoint=get_proc_status",
            "app= ",
            "user= ",
            "code=1306403",
        ],
    ]) {
        for part in parts {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        assert!(line.contains(" ms="), "{line}");
    }
}
