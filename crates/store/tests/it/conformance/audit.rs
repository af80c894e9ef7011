//! The audit trail.

use model::change::{Changes, Revision};
use store::{AuditPage, Store};

use crate::sample;
use crate::test_database::TestDatabase;

async fn with_audit(database: &TestDatabase) -> Store {
    let store = database.open().await;
    for n in 0..5 {
        let changes = Changes {
            audit: vec![sample::audit(2 * n), sample::audit(2 * n + 1)],
            ..Changes::default()
        };
        store
            .commit(Revision(u64::from(n)), &changes)
            .await
            .unwrap();
    }
    store
}

pub async fn audit_is_read_newest_first_in_pages(database: &TestDatabase) {
    let store = with_audit(database).await;
    let mut page = AuditPage {
        limit: 3,
        ..AuditPage::default()
    };
    let mut seen = Vec::new();
    loop {
        let rows = store.audit(&page).await.unwrap();
        let Some((last, _)) = rows.last() else { break };
        page.before = Some(*last);
        seen.extend(rows.into_iter().map(|(_, audit)| audit));
    }
    assert_eq!(seen, Vec::from_iter((0..10).rev().map(sample::audit)));
}

pub async fn audit_is_filtered_by_every_field(database: &TestDatabase) {
    let store = with_audit(database).await;
    let page = AuditPage {
        limit: 10,
        app: Some("app1".into()),
        user: Some("user0".into()),
        action: Some("operate".into()),
        ..AuditPage::default()
    };
    let rows = store.audit(&page).await.unwrap();
    let seen = Vec::from_iter(rows.into_iter().map(|(_, audit)| audit));
    assert_eq!(seen, [sample::audit(9), sample::audit(3)]);
    let earlier = AuditPage {
        from: Some("::1".into()),
        until: Some(sample::moment(9)),
        ..page.clone()
    };
    let rows = store.audit(&earlier).await.unwrap();
    let seen = Vec::from_iter(rows.into_iter().map(|(_, audit)| audit));
    assert_eq!(seen, [sample::audit(3)]);
    for no_match in [
        AuditPage {
            user: Some("' OR 1 = 1 --".into()),
            ..page.clone()
        },
        AuditPage {
            from: Some("::2".into()),
            ..page
        },
    ] {
        assert_eq!(store.audit(&no_match).await.unwrap(), []);
    }
}
