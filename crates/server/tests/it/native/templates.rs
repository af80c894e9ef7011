//! /api/v1/businesses/{id}/templates, and the files generated from them.

use serde_json::{Value, json};

use crate::gsekit::business::Business;

#[tokio::test]
async fn a_template_from_its_draft_to_a_generated_file() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body =
        json!({"template_name": "main", "file_name": "nginx.conf", "abs_path": "/etc/nginx"});
    let (status, template) = rig
        .native("POST", "/businesses/2/templates", body.clone())
        .await;
    assert_eq!(status, 201, "{template}");
    assert_eq!(
        (
            &template["owner"],
            &template["filemode"],
            &template["line_separator"],
            &template["active"]
        ),
        (&json!("root"), &json!("0644"), &json!("LF"), &json!(null))
    );
    let (status, answer) = rig.native("POST", "/businesses/2/templates", body).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("conflict"))
    );
    let path = format!("/businesses/2/templates/{}", template["id"]);

    let draft =
        json!({"description": "first", "content": "listen ${bk_host_innerip} ${local_inst_id}\n"});
    let (status, version) = rig.native("PUT", &format!("{path}/draft"), draft).await;
    assert_eq!(
        (status, &version["state"]),
        (200, &json!("draft")),
        "{version}"
    );
    let at = format!("{path}/versions/{}", version["id"]);
    let (status, active) = rig
        .native("POST", &format!("{at}/activate"), Value::Null)
        .await;
    assert_eq!((status, &active["state"]), (200, &json!("active")));
    let (_, shown) = rig.native("GET", &at, Value::Null).await;
    assert!(shown["content"].as_str().unwrap().starts_with("listen"));
    let (status, draft) = rig
        .native("POST", &format!("{at}/clone"), Value::Null)
        .await;
    assert_eq!((status, &draft["state"]), (200, &json!("draft")));
    let (_, list) = rig
        .native("GET", &format!("{path}/versions"), Value::Null)
        .await;
    assert_eq!(list["versions"].as_array().unwrap().len(), 2);
    assert!(list["versions"][0].get("content").is_none());

    let bindings = json!({"processes": [47], "process_templates": [28]});
    let (status, bound) = rig
        .native("PUT", &format!("{path}/bindings"), bindings.clone())
        .await;
    assert_eq!((status, &bound["bindings"]), (200, &bindings), "{bound}");
    let (_, list) = rig
        .native("GET", "/businesses/2/templates", Value::Null)
        .await;
    assert_eq!(list["templates"][0]["versions"], 2);

    let preview = json!({"template": template["id"], "process": 47, "local_inst_id": 2});
    let (status, answer) = rig.native("POST", "/businesses/2/preview", preview).await;
    assert_eq!(
        (status, &answer["content"]),
        (200, &json!("listen 10.0.0.2 2\n")),
        "{answer}"
    );
    let preview = json!({"text": "${bk_set_name}", "process": 46});
    let (_, answer) = rig.native("POST", "/businesses/2/preview", preview).await;
    assert_eq!(answer["content"], "管控平台");

    let job = json!({"business": 2, "action": "generate", "scope": {"ids": [47]}});
    let (status, job) = rig.native("POST", "/jobs", job).await;
    assert_eq!(status, 202, "{job}");
    loop {
        let path = format!("/jobs/{}?wait=20s", job["id"]);
        let (_, job) = rig.native("GET", &path, Value::Null).await;
        if job["ended_at"] != 0 {
            assert_eq!(job["status"], "succeeded", "{job}");
            break;
        }
    }
    let files = "/businesses/2/processes/47/config-files";
    let (_, list) = rig.native("GET", files, Value::Null).await;
    assert_eq!(list["files"].as_array().unwrap().len(), 2);
    assert_eq!(
        list["files"][0]["generated"]["path"],
        "/etc/nginx/nginx.conf"
    );
    assert_eq!(list["files"][0]["released"], json!(null));
    let of_template = format!("{path}/files");
    for (query, count) in [
        ("", 3),
        ("?state=generated", 2),
        ("?state=released", 0),
        ("?drift=true", 0),
        ("?drift=false", 0),
        ("?state=none", 1),
        ("?q=NGINX.conf+10.0.0.2", 2),
        ("?q=nothing", 0),
    ] {
        let (status, list) = rig
            .native("GET", &format!("{of_template}{query}"), Value::Null)
            .await;
        assert_eq!(
            (status, &list["count"]),
            (200, &json!(count)),
            "{query}: {list}"
        );
    }
    let page = format!("{of_template}?start=1&limit=1");
    let (_, page) = rig.native("GET", &page, Value::Null).await;
    let file = &page["files"][0];
    assert_eq!(
        (&page["count"], &page["active"]),
        (&json!(3), &version["id"])
    );
    assert_eq!(
        (&file["process"], &file["local_inst_id"]),
        (&json!(47), &json!(2))
    );
    assert_eq!(
        (&file["host"], &file["state"]),
        (&json!("0:10.0.0.2"), &json!("generated"))
    );
    assert_eq!(
        (&file["drift"], &file["drift_reason"]["code"]),
        (&json!(null), &json!("not_released"))
    );
    for (query, status) in [("?state=odd", 400), ("?drift=odd", 400)] {
        let path = format!("{of_template}{query}");
        assert_eq!(rig.native("GET", &path, Value::Null).await.0, status);
    }
    let (_, view) = rig
        .native("GET", "/processes/view?business=2&id=47", Value::Null)
        .await;
    let alias = view["processes"][0]["name"].clone();
    let all = "/businesses/2/config-files";
    let (status, page) = rig.native("GET", all, Value::Null).await;
    assert_eq!(
        (status, &page["count"], &page["total"]),
        (200, &json!(2), &json!(2)),
        "{page}"
    );
    assert_eq!(
        (
            &page["files"][1]["name"],
            &page["files"][1]["host"],
            &page["files"][1]["local_inst_id"]
        ),
        (&alias, &json!("0:10.0.0.2"), &json!(2)),
        "{page}"
    );
    let some = |query: &str| format!("{all}?{query}");
    for (query, count, total, shown) in [
        ("changed=true&start=1", 2, 2, 1),
        ("changed=false", 0, 2, 0),
        ("limit=1", 2, 2, 1),
        ("template=999", 0, 0, 0),
        ("id=46", 0, 0, 0),
    ] {
        let (status, page) = rig.native("GET", &some(query), Value::Null).await;
        assert_eq!(status, 200, "{query}: {page}");
        let found = (
            &page["count"],
            &page["total"],
            page["files"].as_array().unwrap().len(),
        );
        assert_eq!(found, (&json!(count), &json!(total), shown), "{query}");
    }
    let (status, _) = rig.native("GET", &some("changed=odd"), Value::Null).await;
    assert_eq!(status, 400);
    let one = format!("{files}/1/{}", template["id"]);
    let (status, file) = rig.native("GET", &one, Value::Null).await;
    assert_eq!(
        (status, &file["content"]),
        (200, &json!("listen 10.0.0.2 1\n"))
    );
    let (status, _) = rig
        .native("GET", &format!("{one}?of=released"), Value::Null)
        .await;
    assert_eq!(status, 404);
    let (status, _) = rig
        .native("GET", &format!("{one}?of=odd"), Value::Null)
        .await;
    assert_eq!(status, 400);

    let body = json!({"template_name": "main2", "file_name": "n.conf", "abs_path": "/etc", "filemode": "0600"});
    let (status, changed) = rig.native("PUT", &path, body).await;
    assert_eq!(
        (status, &changed["filemode"], &changed["bindings"]),
        (200, &json!("0600"), &bindings)
    );
    let (status, _) = rig.native("DELETE", &path, Value::Null).await;
    assert_eq!(status, 204);
    let (status, _) = rig.native("GET", &path, Value::Null).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn errors_in_a_template_name_their_field() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body = |extra: Value| {
        let mut body = json!({"template_name": "t", "file_name": "f", "abs_path": "/etc"});
        for (key, value) in extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    for (body, field) in [
        (body(json!({"template_name": ""})), "template_name"),
        (body(json!({"abs_path": "etc"})), "abs_path"),
        (body(json!({"file_name": "a/b"})), "file_name"),
        (body(json!({"filemode": "rw"})), "filemode"),
        (body(json!({"line_separator": "NL"})), "line_separator"),
        (body(json!({"other": 1})), "other"),
    ] {
        let (status, answer) = rig
            .native("POST", "/businesses/2/templates", body.clone())
            .await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{body}: {answer}"
        );
    }
    let (_, template) = rig
        .native("POST", "/businesses/2/templates", body(json!({})))
        .await;
    let path = format!("/businesses/2/templates/{}", template["id"]);
    let draft = json!({"content": "ok\n% if x:\n"});
    let (status, answer) = rig.native("PUT", &format!("{path}/draft"), draft).await;
    assert_eq!(status, 400, "{answer}");
    let (status, answer) = rig.native("PUT", &format!("{path}/draft"), json!({})).await;
    assert_eq!(
        (status, &answer["error"]["field"]),
        (400, &json!("content"))
    );
    let (status, _) = rig
        .native(
            "PUT",
            &format!("{path}/bindings"),
            json!({"processes": [999]}),
        )
        .await;
    assert_eq!(status, 400);
    for (method, path, expected) in [
        ("POST", format!("{path}/versions/9/activate"), 404),
        ("GET", "/businesses/2/templates/99".to_owned(), 404),
        ("GET", "/businesses/9/templates".to_owned(), 404),
        (
            "GET",
            "/businesses/2/processes/999/config-files".to_owned(),
            404,
        ),
    ] {
        let (status, answer) = rig.native(method, &path, Value::Null).await;
        assert_eq!(status, expected, "{path}: {answer}");
    }
    let (status, answer) = rig
        .native(
            "POST",
            "/businesses/2/preview",
            json!({"text": "${nothing}", "process": 46}),
        )
        .await;
    assert_eq!(status, 400, "{answer}");
}

#[tokio::test]
async fn an_author_sees_the_variables_of_an_instance_and_the_line_of_an_error() {
    let business = Business::new().await;
    let rig = &business.rig;
    let path = "/businesses/2/processes/47/variables";
    let (status, answer) = rig.native("GET", path, Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    let variables = &answer["variables"];
    assert_eq!(variables["bk_process_id"], 47);
    assert_eq!(variables["bk_host_innerip"], "10.0.0.2");
    let text = "${bk_host_innerip} ${bk_set_name}";
    let preview = json!({"text": text, "process": 47});
    let (_, answer) = rig.native("POST", "/businesses/2/preview", preview).await;
    let set = variables["bk_set_name"].as_str().unwrap();
    assert_eq!(answer["content"], format!("10.0.0.2 {set}"));
    for (path, status) in [
        ("/businesses/2/processes/9/variables", 404),
        ("/businesses/3/processes/47/variables", 404),
        ("/businesses/2/processes/47/variables?inst=0", 400),
    ] {
        assert_eq!(
            rig.native("GET", path, Value::Null).await.0,
            status,
            "{path}"
        );
    }
    for (text, place, code, name, value) in [
        (
            "one\ntwo ${nothing}\n",
            (2, 7),
            "template_undefined",
            "name",
            "nothing",
        ),
        (
            "% if x:\n",
            (1, 3),
            "template_unclosed",
            "missing",
            "\"% endif\"",
        ),
        (
            "a ${[].pop()}",
            (1, 11),
            "template_failed",
            "detail",
            "pop() from an empty list",
        ),
    ] {
        let preview = json!({"text": text, "process": 47});
        let (status, answer) = rig.native("POST", "/businesses/2/preview", preview).await;
        let error = &answer["error"];
        assert_eq!((status, &error["field"]), (400, &json!("template")));
        assert_eq!(
            (&error["line"], &error["column"]),
            (&json!(place.0), &json!(place.1)),
            "{error}"
        );
        assert_eq!(error["reason"]["code"], code, "{error}");
        assert_eq!(error["reason"]["params"][name], value, "{error}");
    }
}

#[tokio::test]
async fn a_version_that_is_refused_says_where_it_is_wrong() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body = json!({"template_name": "t", "file_name": "t.conf", "abs_path": "/etc"});
    let (status, template) = rig.native("POST", "/businesses/2/templates", body).await;
    assert_eq!(status, 201, "{template}");
    let path = format!("/businesses/2/templates/{}", template["id"]);
    let draft = json!({"content": "a\n ${1 +}"});
    let (status, answer) = rig.native("PUT", &format!("{path}/draft"), draft).await;
    let error = &answer["error"];
    assert_eq!((status, &error["field"]), (400, &json!("content")));
    assert_eq!(
        (&error["line"], &error["column"]),
        (&json!(2), &json!(7)),
        "{error}"
    );
    assert_eq!(error["reason"]["code"], "template_unexpected");
    assert_eq!(
        error["message"],
        "content: t line 2: expected a value, found the end"
    );

    let draft = json!({"content": "a\n ${nothing}"});
    let (_, version) = rig.native("PUT", &format!("{path}/draft"), draft).await;
    let bindings = json!({"processes": [47]});
    let (status, answer) = rig
        .native("PUT", &format!("{path}/bindings"), bindings)
        .await;
    assert_eq!(status, 200, "{answer}");
    let activate = format!("{path}/versions/{}/activate", version["id"]);
    let (status, answer) = rig.native("POST", &activate, Value::Null).await;
    let error = &answer["error"];
    assert_eq!((status, &error["field"]), (400, &json!("version")));
    assert_eq!(
        (&error["line"], &error["column"]),
        (&json!(2), &json!(4)),
        "{error}"
    );
    assert_eq!(error["reason"]["code"], "not_rendered");
    let instances = error["reason"]["params"]["instances"].as_str().unwrap();
    assert!(instances.starts_with("instance 1 of "), "{error}");
}
