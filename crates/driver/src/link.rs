//! A client's connections, and one request on one of them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_plan::Host;
use pacenote_record::ErrorClass;

use crate::http::{Connection, ExchangeError, Head, Reply};
use crate::outcome::{Outcome, Traffic, Verdict};

/// The connections of one client to its host. It needs one; only operations with several requests under way at a
/// time open more, which are kept for later ones.
#[derive(Debug)]
pub struct Links {
    host: Host,
    addresses: Arc<[SocketAddr]>,
    /// Those that nobody uses, the one used last at the end.
    idle: RefCell<Vec<Link>>,
}

impl Links {
    /// Not connected yet.
    pub fn new(host: Host, addresses: Arc<[SocketAddr]>) -> Self {
        Self { host, addresses, idle: RefCell::default() }
    }

    /// Host and port, for messages.
    pub fn host_name(&self) -> String {
        format!("{}:{}", self.host.host, self.host.port)
    }

    /// Makes sure that a request can be sent, until `deadline`.
    pub async fn connect(&self, deadline: Instant) -> std::io::Result<()> {
        let mut link = self.take();
        let connected = link.connect(deadline).await;
        self.give_back(link);
        connected
    }

    /// A connection for one request after another, to be given back; one that is dropped instead is closed.
    pub fn take(&self) -> Link {
        let idle = self.idle.borrow_mut().pop();
        idle.unwrap_or_else(|| Link::new(Arc::clone(&self.addresses)))
    }

    /// Keeps a connection for later.
    pub fn give_back(&self, link: Link) {
        self.idle.borrow_mut().push(link);
    }

    /// The body of the last reply, until the next request; `None` when the last request had none.
    pub fn last_body(&self) -> Option<Vec<u8>> {
        self.idle.borrow().last().and_then(|link| link.body().map(<[u8]>::to_vec))
    }
}

/// One connection.
#[derive(Debug)]
pub struct Link {
    /// Looked up once, before the race: a look-up per connection would block threads that nobody accounts for.
    addresses: Arc<[SocketAddr]>,
    connection: Option<Connection>,
    /// The last reply, if its request had one.
    reply: Option<Reply>,
}

impl Link {
    fn new(addresses: Arc<[SocketAddr]>) -> Self {
        Self { addresses, connection: None, reply: None }
    }

    /// The headers of the last reply.
    pub fn headers(&self) -> Vec<(String, String)> {
        self.connection.as_ref().map(Connection::headers).unwrap_or_default()
    }

    fn body(&self) -> Option<&[u8]> {
        let connection = self.connection.as_ref()?;
        self.reply.as_ref().map(|reply| connection.body(reply))
    }

    async fn connect(&mut self, deadline: Instant) -> std::io::Result<()> {
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
        self.reply = None;
        let deadline = Instant::now() + timeout;
        let opened = self.connect(deadline).await;
        let sent = Instant::now();
        let Some(connection) = self.connection.as_mut().filter(|_| opened.is_ok()) else {
            return failed(sent, connect_failure(opened.err()), Traffic::default());
        };
        let content_out = body.len() as u64;
        let bytes_out = head.for_body(body.len()).len() as u64 + content_out;
        let sent_off = Traffic { requests: 1, bytes_out, content_out, ..Traffic::default() };
        let exchanged = tokio::time::timeout_at(deadline.into(), connection.exchange(head, body)).await;
        let done = Instant::now();
        let reply: Reply = match exchanged {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                self.connection = None;
                return Outcome { done, free: done, ..failed(sent, exchange_failure(&error), sent_off) };
            }
            Err(_) => {
                self.connection = None;
                let reason = format!("no complete reply within {} s", timeout.as_secs_f64());
                let verdict = Verdict::failure(ErrorClass::Timeout, 0, "", reason);
                return Outcome { done, free: done, ..failed(sent, verdict, sent_off) };
            }
        };
        let came = Traffic { bytes_in: reply.bytes_in, ..sent_off };
        // Decompressing is no part of the service.
        let reply = match connection.decode(reply) {
            Ok(reply) => reply,
            Err(error) => {
                self.connection = None;
                return Outcome { done, free: done, ..failed(sent, exchange_failure(&error), came) };
            }
        };
        let content = connection.body(&reply);
        let (status, content_in) = (reply.status, content.len() as u64);
        let verdict = judge(status, content);
        self.reply = Some(reply);
        Outcome {
            first_sent: sent,
            sent,
            done,
            free: done,
            verdict,
            status,
            retries: 0,
            traffic: Traffic { content_in, ..came },
            parts: Vec::new(),
        }
    }
}

fn failed(sent: Instant, verdict: Verdict, traffic: Traffic) -> Outcome {
    let done = Instant::now();
    Outcome { first_sent: sent, sent, done, free: done, verdict, traffic, ..Outcome::nothing() }
}

fn connect_failure(error: Option<std::io::Error>) -> Verdict {
    let reason = error.map_or_else(|| "no connection".into(), |error| error.to_string());
    Verdict::failure(ErrorClass::Connect, 0, "", reason)
}

fn exchange_failure(error: &ExchangeError) -> Verdict {
    let class = match error {
        ExchangeError::Io(_) | ExchangeError::Closed => ErrorClass::Reset,
        _ => ErrorClass::Protocol,
    };
    Verdict::failure(class, 0, "", error.to_string())
}
