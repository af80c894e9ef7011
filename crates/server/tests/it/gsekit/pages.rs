//! process_status: pages and their order.

use serde_json::json;

use super::business::{Business, document, ids_of, import};

#[tokio::test]
async fn pages_are_in_order_and_one_past_the_end_is_empty_with_the_exact_count() {
    let business = Business::new().await;
    for (page, pagesize, expected) in [
        (json!(1), json!(2), vec![46, 47]),
        (json!("2"), json!("2"), vec![48, 49]),
        (json!(3), json!(2), vec![50]),
        (json!(4), json!(2), vec![]),
        (json!(9_000_000_000_000_000_000_i64), json!(1000), vec![]),
        (json!(1), json!(0), vec![46, 47, 48, 49, 50]),
        (json!(1), json!(-1), vec![46, 47, 48, 49, 50]),
        (json!(1), json!(100_000), vec![46, 47, 48, 49, 50]),
    ] {
        let body = json!({"scope": {"bk_set_env": 0}, "page": page, "pagesize": pagesize});
        let data = business.process_status_ok(body.clone()).await;
        assert_eq!(
            (ids_of(&data), &data["count"]),
            (expected, &json!(5)),
            "{body}"
        );
    }
}

#[tokio::test]
async fn added_and_deleted_rows_do_not_reorder_the_others() {
    let business = Business::new().await;
    let page = async |page: u32| {
        let body = json!({"scope": {"bk_set_env": 0}, "page": page, "pagesize": 2});
        ids_of(&business.process_status_ok(body).await)
    };
    assert_eq!(page(1).await, [46, 47]);
    // A process with a higher id is added, and one that never ran is deleted.
    let mut changed = document();
    let paas = &mut changed["sets"][1]["modules"][0]["service_instances"][0]["processes"];
    paas[0]["bk_process_id"] = json!(60);
    paas[0]["bk_process_name"] = json!("paas2");
    import(&business.rig, &changed).await;
    assert_eq!(page(2).await, [48, 50]);
    assert_eq!(page(3).await, [60]);
    assert_eq!(page(1).await, [46, 47]);
}

#[tokio::test]
async fn rows_are_sorted_and_ties_broken_by_id() {
    let business = Business::new().await;
    for (ordering, expected) in [
        ("bk_process_id", [46, 47, 48, 49, 50]),
        ("-bk_process_id", [50, 49, 48, 47, 46]),
        ("-bk_set_id", [50, 49, 46, 47, 48]),
        ("bk_module_id", [46, 47, 48, 49, 50]),
        ("bk_process_name", [46, 47, 50, 49, 48]),
        ("bk_process_name,-bk_process_id", [46, 50, 47, 49, 48]),
        ("-bk_host_innerip", [46, 50, 49, 47, 48]),
        ("", [46, 47, 48, 49, 50]),
    ] {
        let body = json!({"scope": {"bk_set_env": 0}, "ordering": ordering});
        assert_eq!(business.ids(body).await, expected, "{ordering}");
    }
    let body =
        json!({"scope": {"bk_set_env": 0}, "ordering": "-bk_process_id", "page": 2, "pagesize": 2});
    assert_eq!(ids_of(&business.process_status_ok(body).await), [48, 47]);
}
