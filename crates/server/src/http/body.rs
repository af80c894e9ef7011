//! Reads a request's body, within limits of size and pace.

use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Frame;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::HttpState;
use crate::shed::ShedReason;

/// The largest body: some 800,000 targets.
pub(crate) const MAX_BODY: usize = 64 * 1024 * 1024;
/// How much of a body that is too large is still read, so that its sender reads the response.
const MAX_DISCARDED: usize = 64 * 1024 * 1024;
/// The memory of all incomplete bodies together; beyond it the server reads no further (backpressure).
const MAX_INCOMPLETE: usize = 512 * 1024 * 1024;
/// Bodies up to this size need no share of that memory.
const SMALL: usize = 64 * 1024;
static MEMORY: Semaphore = Semaphore::const_new(MAX_INCOMPLETE);

/// How slowly a body may arrive.
#[derive(Debug, Clone, Copy)]
pub struct BodyPace {
    /// How long nothing may arrive.
    pub silence: Duration,
    /// How long a small body may take.
    pub small_within: Duration,
    /// How fast the rest of a larger one has to arrive, in bytes a second.
    pub rate: u32,
}

impl Default for BodyPace {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            small_within: Duration::from_secs(60),
            rate: 32 * 1024,
        }
    }
}

#[derive(Debug)]
pub(crate) enum BodyError {
    TooLarge,
    /// The sender disconnected, fell silent or broke the protocol.
    Broken,
    TooSlow,
    /// Other large bodies have all the memory.
    NoMemory,
}

impl std::fmt::Display for BodyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge => write!(f, "body: must be at most {MAX_BODY} bytes"),
            Self::Broken => f.write_str("body: ended before it was complete"),
            Self::TooSlow => f.write_str("body: came too slowly"),
            Self::NoMemory => f.write_str("too many large bodies are on their way: try again"),
        }
    }
}

/// Reads the whole body.
pub(crate) async fn collect(body: Body, http: &HttpState) -> Result<Bytes, BodyError> {
    let collected = within(body, http.pace).await;
    if let Err(BodyError::NoMemory) = collected {
        http.shed.count(ShedReason::Bodies, BodyError::NoMemory);
    }
    collected
}

async fn within(mut body: Body, pace: BodyPace) -> Result<Bytes, BodyError> {
    let began = Instant::now();
    let mut all = BytesMut::new();
    let mut discarded = 0;
    // Given back when the body is complete: then the request is soon answered.
    let mut memory = None;
    while let Some(frame) = next_frame(&mut body, pace.silence).await? {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let n_so_far = all.len() + discarded + data.len();
        let extra = Duration::from_secs(n_so_far as u64 / u64::from(pace.rate.max(1)));
        if began.elapsed() > pace.small_within + extra {
            return Err(BodyError::TooSlow);
        }
        if discarded == 0 && all.len() + data.len() <= MAX_BODY {
            if all.len() + data.len() > SMALL {
                take_memory(&mut memory, data.len(), pace.silence).await?;
            }
            all.extend_from_slice(&data);
            continue;
        }
        discarded += data.len();
        all = BytesMut::new();
        memory = None;
        if discarded > MAX_DISCARDED {
            break;
        }
    }
    match discarded {
        0 => Ok(all.freeze()),
        _ => Err(BodyError::TooLarge),
    }
}

async fn take_memory(
    memory: &mut Option<SemaphorePermit<'static>>,
    n: usize,
    within: Duration,
) -> Result<(), BodyError> {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let more = tokio::time::timeout(within, MEMORY.acquire_many(n)).await;
    let Ok(Ok(more)) = more else {
        return Err(BodyError::NoMemory);
    };
    match memory {
        Some(memory) => memory.merge(more),
        None => *memory = Some(more),
    }
    Ok(())
}

async fn next_frame(body: &mut Body, silence: Duration) -> Result<Option<Frame<Bytes>>, BodyError> {
    match tokio::time::timeout(silence, body.frame()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(frame))) => Ok(Some(frame)),
        Ok(Some(Err(_))) | Err(_) => Err(BodyError::Broken),
    }
}
