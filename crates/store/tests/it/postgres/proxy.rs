//! A proxy between the store and its server that injects faults.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A fault. Those of a commit affect only the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The commit arrives, its answer does not.
    LoseAnswer,
    /// The same, and nothing arrives afterwards.
    LoseAnswerAndFallSilent,
    /// The connection is closed before the commit arrives.
    LoseCommit,
    /// The connection is closed, but the commit arrives later.
    DelayCommit(Duration),
    /// The connection stays open, but nothing arrives any more.
    Silence,
}

pub struct Proxy {
    port: u16,
    fault: watch::Sender<Fault>,
}

impl Proxy {
    pub async fn to(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (fault, _) = watch::channel(Fault::None);
        let faults = fault.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, server_port, faults.clone()));
            }
        });
        Self { port, fault }
    }

    pub fn url(&self) -> String {
        format!("postgres://muster@127.0.0.1:{}/postgres", self.port)
    }

    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    pub fn fault(&self) -> Fault {
        *self.fault.borrow()
    }
}

/// Forwards bytes in both directions until either side ends, or until a fault.
async fn forward(
    mut client: TcpStream,
    server_port: u16,
    fault: watch::Sender<Fault>,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", server_port)).await?;
    let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
    let mut faults = fault.subscribe();
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let bytes = &up[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                let _ = faults.wait_for(|fault| *fault != Fault::Silence).await;
                match commit_fault(bytes, &fault) {
                    None => server.write_all(bytes).await?,
                    Some(fault) => return lose(fault, bytes, client, server).await,
                }
            }
            read = server.read(&mut down) => {
                let bytes = &down[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                let _ = faults.wait_for(|fault| *fault != Fault::Silence).await;
                client.write_all(bytes).await?;
            }
        }
    }
}

/// Takes the fault, if there is one and this is a commit.
fn commit_fault(bytes: &[u8], fault: &watch::Sender<Fault>) -> Option<Fault> {
    let word = b"COMMIT\0";
    let is_commit = bytes.windows(word.len()).any(|part| part == word);
    let mut taken = None;
    fault.send_if_modified(|fault| {
        if is_commit && *fault != Fault::None {
            let next = match fault {
                Fault::LoseAnswerAndFallSilent => Fault::Silence,
                Fault::None
                | Fault::LoseAnswer
                | Fault::LoseCommit
                | Fault::DelayCommit(_)
                | Fault::Silence => Fault::None,
            };
            taken = Some(std::mem::replace(fault, next));
        }
        taken.is_some()
    });
    taken
}

async fn lose(
    fault: Fault,
    commit: &[u8],
    client: TcpStream,
    mut server: TcpStream,
) -> std::io::Result<()> {
    match fault {
        Fault::None | Fault::Silence | Fault::LoseCommit => return Ok(()),
        Fault::LoseAnswer | Fault::LoseAnswerAndFallSilent => {}
        Fault::DelayCommit(delay) => {
            drop(client);
            tokio::time::sleep(delay).await;
        }
    }
    server.write_all(commit).await?;
    // Until it has answered.
    server.readable().await
}
