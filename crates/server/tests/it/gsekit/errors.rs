//! Errors have HTTP 200, a code and the field.

use serde_json::{Value, json};

use super::business::{Business, PROCESS_STATUS};
use crate::rig::{APP, Rig, SECRET};

const CREATE: &str = "/v2/gsekit/api/job/create_job/";
const STATUS: &str = "/v2/gsekit/api/job/job_status/";
const MATCH: &str = "/v2/gsekit/api/meta/expression_match/";

#[tokio::test]
async fn each_error_row_names_its_field() {
    let business = Business::new().await;
    let page = |extra: Value| {
        let mut body = json!({"bk_biz_id": 2, "scope": {}, "page": 1, "pagesize": 10});
        for (key, value) in extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    let expression = |part: &str, text: &str| {
        let mut scope = json!({"bk_set_env": 3});
        scope[part] = json!(text);
        page(json!({"scope": null, "expression_scope": scope}))
    };
    let job = |extra: Value| {
        let mut body =
            json!({"bk_biz_id": 2, "job_object": "process", "job_action": "start", "scope": {}});
        for (key, value) in extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    for (path, body, code, message) in [
        (
            PROCESS_STATUS,
            json!({"scope": {}, "page": 1, "pagesize": 10}),
            1_306_406,
            "bk_biz_id: is required",
        ),
        (
            PROCESS_STATUS,
            page(json!({"bk_biz_id": null})),
            1_306_406,
            "bk_biz_id: is required",
        ),
        (
            PROCESS_STATUS,
            page(json!({"bk_biz_id": "x"})),
            4_100_001,
            "bk_biz_id: must be a whole number",
        ),
        (
            PROCESS_STATUS,
            page(json!({"bk_biz_id": -2})),
            4_100_001,
            "bk_biz_id: must be a whole number from 0",
        ),
        (
            PROCESS_STATUS,
            page(json!({"page": null})),
            4_100_001,
            "page: is required",
        ),
        (
            PROCESS_STATUS,
            page(json!({"page": 0})),
            4_100_001,
            "page: must be 1 or more",
        ),
        (
            PROCESS_STATUS,
            page(json!({"page": "x"})),
            4_100_001,
            "page: must be a whole number",
        ),
        (
            PROCESS_STATUS,
            page(json!({"pagesize": null})),
            4_100_001,
            "pagesize: is required",
        ),
        (
            PROCESS_STATUS,
            page(json!({"pagesize": []})),
            4_100_001,
            "pagesize: must be a whole number",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": null})),
            4_100_001,
            "scope: is required, or expression_scope",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": []})),
            4_100_001,
            "scope: must be an object",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": {"bk_set_env": 7}})),
            4_100_001,
            "scope.bk_set_env: must be 1 (test)",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": {"bk_set_ids": 5}})),
            4_100_001,
            "scope.bk_set_ids: must be a list",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": {"bk_set_ids": ["x"]}})),
            4_100_001,
            "scope.bk_set_ids[0]: must be a whole number",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": {"bk_process_names": [{}]}})),
            4_100_001,
            "scope.bk_process_names[0]: must be a list of strings",
        ),
        (
            PROCESS_STATUS,
            page(json!({"process_status": "up"})),
            4_100_001,
            "process_status: must be a whole number",
        ),
        (
            PROCESS_STATUS,
            page(json!({"process_status_list": 1})),
            4_100_001,
            "process_status_list: must be a list",
        ),
        (
            PROCESS_STATUS,
            page(json!({"is_auto": "maybe"})),
            4_100_001,
            "is_auto: must be true or false",
        ),
        (
            PROCESS_STATUS,
            page(json!({"bk_host_innerips": "10.0.0.1"})),
            4_100_001,
            "bk_host_innerips: must be a list",
        ),
        (
            PROCESS_STATUS,
            page(json!({"searches": {}})),
            4_100_001,
            "searches: must be a list",
        ),
        (
            PROCESS_STATUS,
            page(json!({"searches": (0..101).map(|n| n.to_string()).collect::<Vec<_>>()})),
            4_100_001,
            "searches: must be at most 100 terms",
        ),
        (
            PROCESS_STATUS,
            page(json!({"bk_cloud_ids": [[]]})),
            4_100_001,
            "bk_cloud_ids[0]: must be a whole number",
        ),
        (
            PROCESS_STATUS,
            page(json!({"ordering": "name"})),
            4_100_001,
            "ordering: must be of bk_set_id",
        ),
        (
            PROCESS_STATUS,
            page(json!({"fields": "id"})),
            4_100_001,
            "fields: must be a list",
        ),
        (
            PROCESS_STATUS,
            page(json!({"scope": null, "expression_scope": {"bk_set_name": "*"}})),
            4_100_001,
            "expression_scope.bk_set_env: is required",
        ),
        (
            PROCESS_STATUS,
            page(
                json!({"scope": null, "expression_scope": {"bk_set_env": 3, "bk_module_name": []}}),
            ),
            4_100_001,
            "expression_scope.bk_module_name: must be a string or a number",
        ),
        (
            PROCESS_STATUS,
            expression("bk_set_name", "a[b"),
            4_111_001,
            "expression bk_set_name, character 2: a bracket is not closed",
        ),
        (
            PROCESS_STATUS,
            expression("bk_process_id", "[9-3]"),
            4_111_001,
            "expression bk_process_id, character 2: the range 9-3 is reversed",
        ),
        (
            PROCESS_STATUS,
            expression("bk_process_id", "[0:2]x"),
            4_111_001,
            "expression bk_process_id, character 6: a slice stands alone",
        ),
        (
            PROCESS_STATUS,
            expression("bk_process_name", "[a[b]]"),
            4_111_001,
            "expression bk_process_name, character 3: a bracket inside",
        ),
        (
            CREATE,
            job(json!({"bk_biz_id": ""})),
            1_306_406,
            "bk_biz_id: is required",
        ),
        (
            CREATE,
            job(json!({"bk_biz_id": 99})),
            4_100_002,
            "business 99 is not known",
        ),
        (
            CREATE,
            job(json!({"job_object": "host"})),
            4_100_001,
            "job_object: must be process or configfile",
        ),
        (
            CREATE,
            job(json!({"job_object": null})),
            4_100_001,
            "job_object: is required",
        ),
        (
            CREATE,
            job(json!({"job_action": "jump"})),
            4_100_001,
            "job_action: must be one of start",
        ),
        (
            CREATE,
            job(json!({"job_action": "release"})),
            4_100_001,
            "job_action: must be one of start",
        ),
        (
            CREATE,
            job(json!({"job_object": "configfile"})),
            4_100_001,
            "job_action: must be one of generate",
        ),
        (
            CREATE,
            job(json!({"scope": null})),
            4_100_001,
            "scope: is required",
        ),
        (
            CREATE,
            job(json!({"scope": {"bk_set_ids": [99]}})),
            4_100_001,
            "scope: selects no process",
        ),
        (
            CREATE,
            job(json!({"extra_data": {"batch_size": 0}})),
            4_100_001,
            "extra_data.batch_size: must be from 1",
        ),
        (
            CREATE,
            job(json!({"extra_data": []})),
            4_100_001,
            "extra_data: must be an object",
        ),
        (STATUS, json!({}), 4_100_001, "job_id: is required"),
        (
            STATUS,
            json!({"job_id": 77}),
            4_103_005,
            "job 77 does not exist",
        ),
        (
            STATUS,
            json!({"job_id": -1}),
            4_103_005,
            "job -1 does not exist",
        ),
        (
            MATCH,
            json!({"candidates": []}),
            4_100_001,
            "expression: is required",
        ),
        (
            MATCH,
            json!({"expression": "*"}),
            4_100_001,
            "candidates: is required",
        ),
        (
            MATCH,
            json!({"expression": "a[b", "candidates": []}),
            4_111_001,
            "expression, character 2: a bracket is not closed",
        ),
        (
            "/v2/gsekit/api/process/flush_process/",
            json!({}),
            1_306_406,
            "bk_biz_id: is required",
        ),
        (
            "/v2/gsekit/api/process/flush_process/",
            json!({"bk_biz_id": 99}),
            4_100_002,
            "business 99 is not known",
        ),
        (
            "/v2/gsekit/api/process/sync_process_status/",
            json!({}),
            1_306_406,
            "bk_biz_id: is required",
        ),
        (
            "/v2/gsekit/api/process/nothing/",
            json!({}),
            1_000_404,
            "there is no API at",
        ),
        ("/v2/gsekit", json!({}), 1_000_404, "there is no API at"),
    ] {
        let envelope = business.rig.gse("POST", path, body.clone()).await;
        assert_eq!(envelope["code"], code, "{body}: {envelope}");
        let actual = envelope["message"].as_str().unwrap();
        assert!(actual.starts_with(message), "{actual:?} for {body}");
    }
}

#[tokio::test]
async fn invalid_json_and_a_wrong_method_are_refused() {
    let rig = Rig::new().await;
    let envelope = rig.bare("POST", PROCESS_STATUS, "{\"scope\": {},}").await;
    assert_eq!(envelope["code"], 4_100_001);
    assert!(
        envelope["message"]
            .as_str()
            .unwrap()
            .starts_with("body: is not JSON")
    );
    let envelope = rig.bare("GET", PROCESS_STATUS, "").await;
    assert_eq!(
        envelope["message"],
        format!("GET {PROCESS_STATUS}: use POST")
    );
}

#[tokio::test]
async fn credentials_have_their_codes_and_a_business_is_a_namespace() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body = json!({"code": "other", "namespaces": ["GSEKIT_BIZ_3"], "trusted": true});
    let (status, created) = rig.native("POST", "/apps", body).await;
    assert_eq!(status, 201, "{created}");
    let secret = created["secret"].as_str().unwrap();
    for (fields, code) in [
        (json!({}), 1_306_406),
        (
            json!({"bk_app_code": APP, "bk_app_secret": "wrong", "bk_username": "a"}),
            1_306_403,
        ),
        (
            json!({"bk_app_code": APP, "bk_app_secret": SECRET}),
            1_306_401,
        ),
        (
            json!({"bk_app_code": "other", "bk_app_secret": secret, "bk_username": "a"}),
            1_306_403,
        ),
        (
            json!({"bk_app_code": "other", "bk_app_secret": secret, "bk_username": "a", "bk_biz_id": 3}),
            0,
        ),
    ] {
        let mut body = json!({"bk_biz_id": 2, "scope": {}, "page": 1, "pagesize": 10});
        for (key, value) in fields.as_object().unwrap() {
            body[key] = value.clone();
        }
        let envelope = rig.bare("POST", PROCESS_STATUS, &body.to_string()).await;
        assert_eq!(envelope["code"], code, "{fields}: {envelope}");
    }
    let who = json!({"bk_app_code": "other", "bk_app_secret": secret, "bk_username": "a", "bk_biz_id": 2,
        "job_object": "process", "job_action": "start", "scope": {}});
    let envelope = rig.bare("POST", CREATE, &who.to_string()).await;
    assert_eq!(envelope["code"], 1_306_403);
    let path = "/v2/gsekit/api/process/flush_process/";
    let envelope = rig.bare("POST", path, &who.to_string()).await;
    assert_eq!(envelope["code"], 1_306_403);
}
