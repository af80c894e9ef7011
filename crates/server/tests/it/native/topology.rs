//! /api/v1/businesses: the topology as a document.

use serde_json::{Value, json};

use crate::gsekit::business::{Business, document, import};
use crate::rig::Rig;

#[tokio::test]
async fn importing_a_shown_document_changes_nothing() {
    let rig = Rig::new().await;
    let (status, dry) = rig
        .native("PUT", "/businesses/2/topology?dry_run=true", document())
        .await;
    assert_eq!(status, 200, "{dry}");
    assert_eq!(
        (&dry["processes"]["new"], &dry["instances"]["new"]),
        (&json!(5), &json!(6))
    );
    let lines = dry["lines"].as_array().unwrap();
    assert_eq!(dry["changes"].as_array().unwrap().len(), lines.len());
    assert_eq!(lines[0], "+ set 管控平台");
    let set = json!({"mark": "+", "code": "set", "params": {"name": "管控平台"}});
    assert_eq!(dry["changes"][0], set);
    let (status, answer) = rig
        .native("GET", "/businesses/2/topology", Value::Null)
        .await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!("not_found"))
    );

    import(&rig, &document()).await;
    let (status, shown) = rig
        .native("GET", "/businesses/2/topology", Value::Null)
        .await;
    assert_eq!(status, 200);
    assert_eq!(shown["sets"][0]["bk_set_name"], "管控平台");
    let again = import(&rig, &shown).await;
    for what in [
        "sets",
        "modules",
        "hosts",
        "services",
        "processes",
        "instances",
    ] {
        assert_eq!(
            again[what],
            json!({"new": 0, "changed": 0, "gone": 0}),
            "{again}"
        );
    }

    let (_, list) = rig.native("GET", "/businesses", Value::Null).await;
    let business = &list["businesses"][0];
    assert_eq!(
        (
            &business["id"],
            &business["name"],
            &business["origin"],
            &business["processes"]
        ),
        (&json!(2), &json!("game"), &json!("given"), &json!(5))
    );
    assert_eq!(
        (&business["sets"], &business["modules"]),
        (&json!(3), &json!(4))
    );
    let (status, difference) = rig
        .native("POST", "/businesses/2/refresh", Value::Null)
        .await;
    assert_eq!((status, &difference["vanished"]), (200, &json!(0)));

    let (status, gone) = rig
        .native("DELETE", "/businesses/2/topology", Value::Null)
        .await;
    assert_eq!(
        (status, &gone["processes"]["gone"]),
        (200, &json!(5)),
        "{gone}"
    );
    let (_, list) = rig.native("GET", "/businesses", Value::Null).await;
    assert_eq!(list["businesses"], json!([]));
    let (_, trail) = rig.native("GET", "/audit", Value::Null).await;
    let actions: Vec<&str> = trail["audit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["action"].as_str().unwrap())
        .collect();
    assert!(actions.len() >= 2, "{actions:?}");
}

#[tokio::test]
async fn errors_in_a_document_name_their_field() {
    let rig = Rig::new().await;
    for (body, field) in [
        (json!({"bk_biz_id": 3}), "bk_biz_id"),
        (json!({"sets": []}), "body"),
        (json!({"bk_biz_id": 2, "stes": []}), "stes"),
        (
            json!({"bk_biz_id": 2, "sets": [{"bk_set_name": "s", "bk_set_env": 9}]}),
            "sets[0].bk_set_env",
        ),
        (
            json!({"bk_biz_id": 2, "sets": [{"bk_set_name": "s", "modules": [{"bk_module_name": "m", "hosts": ["x"],
                "processes": [{"bk_process_name": "p"}]}]}]}),
            "sets[0].modules[0].hosts[0].host",
        ),
    ] {
        let (status, answer) = rig
            .native("PUT", "/businesses/2/topology", body.clone())
            .await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{answer}"
        );
    }
    let (status, _) = rig
        .native("GET", "/businesses/x/topology", Value::Null)
        .await;
    assert_eq!(status, 400);
    let (status, _) = rig
        .native("DELETE", "/businesses/2/topology", Value::Null)
        .await;
    assert_eq!(status, 404);
    let (status, _) = rig
        .native("POST", "/businesses/2/refresh", Value::Null)
        .await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn an_app_sees_only_its_businesses() {
    let business = Business::new().await;
    let body = json!({"code": "other", "namespaces": ["GSEKIT_BIZ_3"], "trusted": true});
    let (_, created) = business.rig.native("POST", "/apps", body).await;
    let headers = [
        ("X-Bkapi-App-Code", "other"),
        ("X-Bkapi-App-Secret", created["secret"].as_str().unwrap()),
        ("X-Bkapi-User-Name", "eve"),
    ];
    let ask = async |method: &str, path: &str, body: &str| {
        let path = format!("/api/v1{path}");
        let answer = business.rig.send(method, &path, &headers, body.as_bytes());
        let answer = answer.await;
        (answer.status, answer.json())
    };
    assert_eq!(
        ask("GET", "/businesses", "").await.1,
        json!({"businesses": []})
    );
    for (method, path, body) in [
        ("GET", "/businesses/2/topology", ""),
        ("PUT", "/businesses/2/topology", "{\"bk_biz_id\":2}"),
        ("DELETE", "/businesses/2/topology", ""),
        ("POST", "/businesses/2/refresh", ""),
        ("GET", "/processes/view?business=2", ""),
        (
            "POST",
            "/expression/explain",
            "{\"business\":2,\"expression\":\"*\"}",
        ),
        (
            "POST",
            "/jobs",
            "{\"business\":2,\"action\":\"start\",\"scope\":{}}",
        ),
        ("GET", "/jobs?business=2", ""),
        ("GET", "/businesses/2/templates", ""),
        ("POST", "/businesses/2/templates", "{}"),
        ("GET", "/businesses/2/templates/1", ""),
        (
            "POST",
            "/businesses/2/preview",
            "{\"text\":\"\",\"process\":46}",
        ),
        ("GET", "/businesses/2/processes/46/config-files", ""),
    ] {
        let (status, answer) = ask(method, path, body).await;
        assert_eq!(status, 403, "{method} {path}: {answer}");
    }
}

#[tokio::test]
async fn rows_that_are_left_out_have_a_code() {
    let rig = Rig::new().await;
    let mut twice = document();
    let first = twice["sets"][0].clone();
    twice["sets"].as_array_mut().unwrap().push(first);
    let path = "/businesses/2/topology";
    assert_eq!(rig.native("PUT", path, twice).await.0, 200);
    let (_, shown) = rig.native("GET", "/businesses", Value::Null).await;
    let trouble = &shown["businesses"][0]["troubles"][0];
    assert_eq!(trouble["reason"], "set 管控平台 is there twice");
    assert_eq!(trouble["code"], "twice");
    assert_eq!(
        trouble["params"],
        json!({"what": "set", "name": "管控平台"})
    );
}
