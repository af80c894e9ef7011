//! Settings, which are written once.

use crate::test_database::TestDatabase;

pub async fn a_setting_keeps_its_first_value(database: &TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.setting("ca").await.unwrap(), None);
    assert_eq!(
        store.put_setting_if_absent("ca", &[0, 1]).await.unwrap(),
        [0, 1]
    );
    assert_eq!(
        store.put_setting_if_absent("ca", &[2]).await.unwrap(),
        [0, 1]
    );
    assert_eq!(store.setting("ca").await.unwrap().unwrap(), [0, 1]);
}

pub async fn replicas_that_race_for_a_setting_agree(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let racers = (0..16).map(|n| {
        let store = [&one, &other][n as usize % 2].clone();
        tokio::spawn(async move { store.put_setting_if_absent("ca", &[n]).await.unwrap() })
    });
    let mut answers = Vec::new();
    for racer in Vec::from_iter(racers) {
        answers.push(racer.await.unwrap());
    }
    let winner = one.setting("ca").await.unwrap().unwrap();
    assert_eq!(answers, vec![winner; 16]);
}
