//! Takes in a request's body, up to a limit.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Frame;

/// The largest body: some 800,000 targets.
pub(crate) const MAX_BODY: usize = 64 * 1024 * 1024;
/// How much of a body that is too large is still read, so that its sender gets to see the answer.
const MAX_DISCARDED: usize = 64 * 1024 * 1024;
/// How long a sender may be silent in the middle of a body.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) enum BodyError {
    TooLarge,
    /// The sender went away, fell silent or broke the protocol.
    Broken,
}

impl std::fmt::Display for BodyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge => write!(f, "body: must be at most {MAX_BODY} bytes"),
            Self::Broken => f.write_str("body: ended before it was complete"),
        }
    }
}

pub(crate) async fn collect(mut body: Body) -> Result<Bytes, BodyError> {
    let mut all = BytesMut::new();
    let mut discarded = 0;
    while let Some(frame) = next_frame(&mut body).await? {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if discarded == 0 && all.len() + data.len() <= MAX_BODY {
            all.extend_from_slice(&data);
            continue;
        }
        discarded += data.len();
        all = BytesMut::new();
        if discarded > MAX_DISCARDED {
            break;
        }
    }
    match discarded {
        0 => Ok(all.freeze()),
        _ => Err(BodyError::TooLarge),
    }
}

async fn next_frame(body: &mut Body) -> Result<Option<Frame<Bytes>>, BodyError> {
    match tokio::time::timeout(PATIENCE, body.frame()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(frame))) => Ok(Some(frame)),
        Ok(Some(Err(_))) | Err(_) => Err(BodyError::Broken),
    }
}
