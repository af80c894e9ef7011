//! smoke
use model::change::*;
use store::Store;

#[tokio::test]
async fn a_new_store_opens_commits_and_loads() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}/a/b.db", folder.path().display()))
        .await
        .unwrap();
    let changes = Changes {
        names: vec![NameRow {
            id: NameId(1),
            name: "a/b".parse().unwrap(),
        }],
        processes: (0..3000)
            .map(|n| ProcessRow {
                id: ProcessId(n),
                host: HostId(n),
                name: NameId(1),
                definition: DefinitionId(0),
                flag: model::Flag::Running,
                managed: true,
                registered_at: model::UnixMillis(5),
                incarnation: Revision(1),
            })
            .collect(),
        ..Default::default()
    };
    assert_eq!(store.commit(Revision(0), &changes).await.unwrap(), Revision(1));
    assert_eq!(store.load().await.unwrap().changes, changes);
    store.close().await;
}
