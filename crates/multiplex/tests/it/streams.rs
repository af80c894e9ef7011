//! Bytes pass untouched, in both directions, with backpressure for each stream, and half-close.

use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice};
use std::task::Poll;

use multiplex::{ACCEPTOR_WINDOW, MAX_OPENING, Stream, WINDOW};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::rig::{Pair, in_time, pattern};

/// Writes until the window is full; returns how much.
async fn fill(stream: &Stream) -> usize {
    let mut written = 0;
    poll_fn(|cx| {
        loop {
            let bytes = pattern(written, 5000);
            match stream.poll_write_parts(cx, &[IoSlice::new(&bytes)]) {
                Poll::Ready(n) => written += n.unwrap(),
                // The connection may be full for a moment: only the window stays full.
                Poll::Pending if written < ACCEPTOR_WINDOW as usize => return Poll::Pending,
                Poll::Pending => return Poll::Ready(written),
            }
        }
    })
    .await
}

#[tokio::test]
async fn bytes_and_ends_pass_in_both_directions() {
    let mut pair = Pair::new().await;
    let (mut here, mut there) = pair.stream().await;
    here.write_all(b"question").await.unwrap();
    let mut peeked = [0; 3];
    assert_eq!(in_time(there.peek(&mut peeked)).await.unwrap(), 3);
    assert_eq!(&peeked, b"que");
    here.shutdown().await.unwrap();
    let mut question = Vec::new();
    in_time(there.read_to_end(&mut question)).await.unwrap();
    assert_eq!(question, b"question");
    assert_eq!(in_time(there.peek(&mut peeked)).await.unwrap(), 0);
    assert_eq!(
        here.write(b"x").await.unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
    there.write_all(b"answer").await.unwrap();
    drop(there);
    let mut answer = Vec::new();
    let read = in_time(here.read_to_end(&mut answer)).await;
    assert_eq!(answer, b"answer");
    // The other side has dropped it without an end.
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    drop(here);
    assert_eq!(pair.opener.n_streams(), 0);
}

#[tokio::test]
async fn an_end_is_seen_behind_bytes_that_were_not_read() {
    let mut pair = Pair::new().await;
    for end in [|here: Stream| here.end(), drop] {
        let (mut here, mut there) = pair.stream().await;
        here.write_all(b"question").await.unwrap();
        let mut bytes = [0; 8];
        in_time(there.peek(&mut bytes)).await.unwrap();
        let is_over = tokio::select! {
            biased;
            () = there.ended() => true,
            () = std::future::ready(()) => false,
        };
        assert!(!is_over, "the peer is still there");
        end(here);
        in_time(there.ended()).await;
        in_time(there.read_exact(&mut bytes)).await.unwrap();
        assert_eq!(&bytes, b"question");
    }
    let (_here, there) = pair.stream().await;
    pair.opener_ended.abort();
    in_time(there.ended()).await;
}

#[tokio::test]
async fn what_was_written_before_an_end_arrives_even_if_the_stream_is_dropped() {
    let mut pair = Pair::new().await;
    for _ in 0..50 {
        let (mut here, mut there) = pair.stream().await;
        there.write_all(b"bye").await.unwrap();
        there.shutdown().await.unwrap();
        drop(there);
        let mut said = Vec::new();
        in_time(here.read_to_end(&mut said)).await.unwrap();
        assert_eq!(said, b"bye");
        let write = async {
            loop {
                if let Err(error) = here.write(b"x").await {
                    break error;
                }
                tokio::task::yield_now().await;
            }
        };
        assert_eq!(in_time(write).await.kind(), ErrorKind::BrokenPipe);
    }
}

#[tokio::test]
async fn a_stream_that_is_not_read_holds_up_no_other_and_loses_nothing() {
    const TOTAL: usize = 3 * 1024 * 1024;
    let mut pair = Pair::new().await;
    let (mut stuck, mut unread) = pair.stream().await;
    let (mut here, mut there) = pair.stream().await;
    let written = in_time(fill(&stuck)).await;
    assert_eq!(written, ACCEPTOR_WINDOW as usize, "the window is the limit");
    // The other stream carries megabytes meanwhile, in both directions.
    let (mut got, mut got_back) = (vec![0; TOTAL], vec![0; TOTAL]);
    let sent = pattern(0, TOTAL);
    {
        let (mut read_here, mut write_here) = tokio::io::split(&mut here);
        let (mut read_there, mut write_there) = tokio::io::split(&mut there);
        let all = async {
            tokio::try_join!(
                write_here.write_all(&sent),
                write_there.write_all(&sent),
                read_there.read_exact(&mut got),
                read_here.read_exact(&mut got_back),
            )
        };
        in_time(all).await.unwrap();
    }
    assert!(got == sent && got_back == sent);
    // What the stuck one has sent is still there, and the rest follows.
    let rest = async {
        stuck.write_all(&pattern(written, TOTAL - written)).await?;
        stuck.shutdown().await
    };
    let mut all = Vec::new();
    let (wrote, read) = in_time(async { tokio::join!(rest, unread.read_to_end(&mut all)) }).await;
    wrote.unwrap();
    read.unwrap();
    assert!(all == sent);
}

#[tokio::test]
async fn a_reader_that_stops_after_a_while_is_sent_no_more_than_a_window() {
    let mut pair = Pair::new().await;
    let (mut here, mut there) = pair.stream().await;
    let first = ACCEPTOR_WINDOW as usize;
    here.write_all(&pattern(0, first)).await.unwrap();
    in_time(there.read_exact(&mut vec![0; first]))
        .await
        .unwrap();
    // Now it has credit for a whole window.
    let window = WINDOW as usize;
    in_time(here.write_all(&pattern(first, window)))
        .await
        .unwrap();
    let full = poll_fn(|cx| {
        let more = here.poll_write_parts(cx, &[IoSlice::new(b"x")]);
        Poll::Ready(more.is_pending())
    });
    assert!(full.await);
    in_time(there.read_exact(&mut vec![0; window]))
        .await
        .unwrap();
    in_time(here.write_all(b"x")).await.unwrap();
}

#[tokio::test]
async fn thousands_of_streams_share_a_connection() {
    const STREAMS: usize = 3000;
    let mut pair = Pair::new().await;
    let mut open: Vec<(Stream, Stream)> = Vec::new();
    for _ in 0..STREAMS {
        open.push(pair.stream().await);
    }
    assert_eq!(pair.opener.n_streams(), STREAMS);
    assert_eq!(pair.acceptor.n_streams(), STREAMS);
    let mut talks = tokio::task::JoinSet::new();
    for (n, (mut here, mut there)) in open.into_iter().enumerate() {
        talks.spawn(async move {
            let text = format!("stream {n}").repeat(1 + n % 100);
            let mut got = vec![0; text.len()];
            here.write_all(text.as_bytes()).await.unwrap();
            there.read_exact(&mut got).await.unwrap();
            there.write_all(&got).await.unwrap();
            here.read_exact(&mut got).await.unwrap();
            assert_eq!(got, text.as_bytes());
            here.shutdown().await.unwrap();
            there.shutdown().await.unwrap();
            assert_eq!(here.read(&mut got).await.unwrap(), 0);
            assert_eq!(there.read(&mut got).await.unwrap(), 0);
        });
    }
    in_time(async {
        while let Some(talk) = talks.join_next().await {
            talk.unwrap()
        }
    })
    .await;
    assert_eq!(pair.opener.n_streams(), 0, "ended on both sides");
    assert_eq!(pair.acceptor.n_streams(), 0);
}

#[tokio::test]
async fn an_opening_has_a_limit() {
    let mut pair = Pair::new().await;
    let longest = vec![7; MAX_OPENING];
    let _stream = pair.opener.stream(&longest).unwrap();
    assert_eq!(pair.next().await.unwrap().1, longest);
    let refused = pair.opener.stream(&[7; MAX_OPENING + 1]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}
