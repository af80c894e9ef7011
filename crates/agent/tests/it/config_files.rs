//! Configuration files that a scripted server writes and reads, through a session.

use model::config_file::{DesiredFile, FileLookup, FileMetadata, WrittenFile};
use supervisor::{AllowedPaths, Recovered};
use wire::ask::{Ask, Question, ReadFile, WriteFile};

use crate::answer::output;
use crate::fixture::{Server, send, session, state, welcome};

fn write(path: &str, content: &str, md5: &str) -> Question {
    let id = |flag| {
        let id = std::process::Command::new("id").arg(flag).output().unwrap();
        String::from_utf8(id.stdout).unwrap().trim().to_owned()
    };
    Question::WriteFile(WriteFile {
        file: DesiredFile {
            path: path.to_owned(),
            owner: id("-un"),
            group: id("-g"),
            mode: 0o604,
            md5: md5.into(),
            keep_backups: 5,
        },
        content: content.to_owned().into(),
    })
}

fn read(path: &str) -> Question {
    Question::ReadFile(ReadFile {
        path: path.to_owned(),
        max_bytes: 1_000_000,
    })
}

/// The whole answer to one question, or the refusal.
async fn answer(server: &mut Server, id: u64, question: &Question) -> Result<Vec<u8>, String> {
    send(server, Ask::new(id, question)).await;
    let mut bytes = Vec::new();
    loop {
        let output = output(server).await;
        assert_eq!(output.id, id);
        if !output.refused.is_empty() {
            return Err(output.refused);
        }
        bytes.extend(output.chunk);
        if output.last {
            return Ok(bytes);
        }
        send(server, Ask::new(id, &Question::More { chunks: 1 })).await;
    }
}

#[tokio::test]
async fn a_file_is_written_and_read_back_in_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("etc/app.conf").display().to_string();
    let content = "line\r\n".repeat(60_000);
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        // Content with another md5 is refused; the refusal names the right one.
        let error = answer(&mut server, 1, &write(&path, &content, "")).await;
        let error = error.unwrap_err();
        let md5 = error.split("has the md5 ").nth(1).unwrap()[..32].to_owned();
        let written = answer(&mut server, 2, &write(&path, &content, &md5)).await;
        let written: WrittenFile = serde_json::from_slice(&written.unwrap()).unwrap();
        assert_eq!((written.unchanged, &written.md5), (false, &md5));

        let bytes = answer(&mut server, 3, &read(&path)).await.unwrap();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let found: FileLookup = serde_json::from_slice(&bytes[..end]).unwrap();
        let FileLookup::File(FileMetadata { size, mode, .. }) = found else {
            panic!("not found");
        };
        assert_eq!((size, mode), (content.len() as u64, 0o604));
        assert_eq!(&bytes[end + 1..], content.as_bytes());

        let nothing = answer(&mut server, 4, &read("/no/such/file")).await;
        assert_eq!(nothing.unwrap(), b"\"nothing\"\n");
    })
    .await;
}

#[tokio::test]
async fn an_empty_chunk_says_that_the_work_has_begun() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.conf").display().to_string();
    let (mut state, _supervisor) = state(Recovered::default(), 64);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        send(&mut server, Ask::new(1, &write(&path, "", ""))).await;
        let first = output(&mut server).await;
        assert_eq!((first.chunk.len(), first.last), (0, false), "{first:?}");
        let last = output(&mut server).await;
        assert!(last.refused.contains("has the md5"), "{last:?}");
    })
    .await;
}

#[tokio::test]
async fn a_host_with_release_off_refuses() {
    let (state, _supervisor) = state(Recovered::default(), 64);
    let mut state = state.with_release(AllowedPaths::Nowhere);
    session(&mut state, 4096, async |mut server| {
        welcome(&mut server).await;
        for question in [write("/tmp/x", "", ""), read("/etc/passwd")] {
            let error = answer(&mut server, 1, &question).await.unwrap_err();
            assert!(error.ends_with("its setting `release` is off"), "{error}");
        }
    })
    .await;
}
