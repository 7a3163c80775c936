//! A client's connection, and one request on it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_plan::Host;
use pacenote_record::ErrorClass;

use crate::http::{Connection, ExchangeError, Head, Reply};
use crate::outcome::{Outcome, Verdict};

/// A client's connection to its host.
#[derive(Debug)]
pub struct Link {
    host: Host,
    /// Looked up once, before the race: a look-up per connection would block threads that nobody accounts for.
    addresses: Arc<[SocketAddr]>,
    connection: Option<Connection>,
}

impl Link {
    /// Not connected yet.
    pub fn new(host: Host, addresses: Arc<[SocketAddr]>) -> Self {
        Self { host, addresses, connection: None }
    }

    /// Host and port, for messages.
    pub fn host_name(&self) -> String {
        format!("{}:{}", self.host.host, self.host.port)
    }

    /// Makes sure that a request can be sent, until `deadline`.
    pub async fn connect(&mut self, deadline: Instant) -> std::io::Result<()> {
        if self.connection.as_ref().is_some_and(Connection::usable) {
            return Ok(());
        }
        self.connection = None;
        let opened = tokio::time::timeout_at(deadline.into(), Connection::open(&self.addresses)).await;
        self.connection = Some(opened.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??);
        Ok(())
    }

    /// Sends one request, on a new connection if the old one was closed meanwhile, and judges its reply after the
    /// clock has stopped. Nothing is sent twice.
    pub async fn call(
        &mut self,
        head: &mut Head,
        body: &[u8],
        timeout: Duration,
        judge: impl FnOnce(u16, &[u8]) -> Verdict,
    ) -> Outcome {
        let deadline = Instant::now() + timeout;
        let opened = self.connect(deadline).await;
        let sent = Instant::now();
        let Some(connection) = self.connection.as_mut().filter(|_| opened.is_ok()) else {
            return failed(sent, connect_failure(opened.err()), 0, 0);
        };
        let bytes_out = (head.for_body(body.len()).len() + body.len()) as u64;
        let exchanged = tokio::time::timeout_at(deadline.into(), connection.exchange(head, body)).await;
        let done = Instant::now();
        let reply: Reply = match exchanged {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                self.connection = None;
                return Outcome { done, ..failed(sent, exchange_failure(&error), bytes_out, 1) };
            }
            Err(_) => {
                self.connection = None;
                let reason = format!("no complete reply within {} s", timeout.as_secs_f64());
                let verdict = Verdict::failure(ErrorClass::Timeout, 0, "", reason);
                return Outcome { done, ..failed(sent, verdict, bytes_out, 1) };
            }
        };
        let verdict = judge(reply.status, connection.body(&reply));
        let bytes_in = reply.bytes_in;
        Outcome {
            first_sent: sent,
            sent,
            done,
            verdict,
            status: reply.status,
            requests: 1,
            retries: 0,
            bytes_out,
            bytes_in,
        }
    }
}

fn failed(sent: Instant, verdict: Verdict, bytes_out: u64, requests: u32) -> Outcome {
    Outcome {
        first_sent: sent,
        sent,
        done: Instant::now(),
        verdict,
        status: 0,
        requests,
        retries: 0,
        bytes_out,
        bytes_in: 0,
    }
}

fn connect_failure(error: Option<std::io::Error>) -> Verdict {
    let reason = error.map_or_else(|| "no connection".into(), |error| error.to_string());
    Verdict::failure(ErrorClass::Connect, 0, "", reason)
}

fn exchange_failure(error: &ExchangeError) -> Verdict {
    let class = match error {
        ExchangeError::Malformed(_) => ErrorClass::Protocol,
        _ => ErrorClass::Reset,
    };
    Verdict::failure(class, 0, "", error.to_string())
}
