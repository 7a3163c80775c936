//! A client's connections, and one request on one of them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_record::ErrorClass;

use crate::operation::compression::Payload;
use crate::operation::outcome::Outcome;
use crate::response::outcome::ReplyOutcome;
use crate::transport::connect::{DialError, Route, Routes};
use crate::transport::http::{Connection, ExchangeError, Head, Reply};
use crate::transport::stream::Crossed;
use crate::transport::timeout::Timeout;
use crate::transport::tls::tls_error;
use crate::transport::traffic::Traffic;

/// The connections of one client to its host. It needs one; only operations with several requests under way at a
/// time open more, which are kept for later ones.
#[derive(Debug)]
pub struct Links {
    route: Arc<Route>,
    /// Which of the host's clients it is.
    client: usize,
    /// Those that nobody uses, the one used last at the end.
    idle: RefCell<Vec<Link>>,
    /// Whether the connection was opened again since it was used last.
    reopened: Cell<bool>,
}

impl Links {
    /// The connections of a client of a cluster: clients are spread over its hosts one by one, those of a host over its
    /// addresses likewise. Not connected yet.
    pub fn of_client(routes: &Routes, client: usize) -> Self {
        let (host, client) = (client % routes.len(), client / routes.len());
        Self {
            route: Arc::clone(&routes[host]),
            client,
            idle: RefCell::default(),
            reopened: Cell::new(false),
        }
    }

    /// Host and port, for messages.
    pub fn host_name(&self) -> &str {
        self.route.name()
    }

    /// Makes sure that a request can be sent, until `deadline`.
    pub async fn connect(&self, deadline: Instant) -> Result<(), DialError> {
        let mut link = self.take();
        let connected = link.connect(deadline).await;
        self.give_back(link);
        connected.map(drop)
    }

    /// Whether nobody uses the connection, and it is gone: cut by the other side, or broken by the last request. Once
    /// between two requests; the next may be far away, and a server that closes what is idle would be kept busy.
    pub fn is_cut_off(&self) -> bool {
        !self.reopened.get() && self.idle.borrow_mut().last_mut().is_some_and(Link::is_cut_off)
    }

    /// Opens a connection that [`Links::is_cut_off`], off every clock.
    pub async fn reopen(&self, deadline: Instant) -> Result<(), DialError> {
        let mut link = self.take();
        let reopened = link.connect(deadline).await;
        link.owed += reopened.as_ref().copied().unwrap_or(0);
        self.give_back(link);
        self.reopened.set(true);
        reopened.map(drop)
    }

    /// A connection for one request after another, to be given back; one that is dropped instead is closed.
    pub fn take(&self) -> Link {
        self.reopened.set(false);
        let idle = self.idle.borrow_mut().pop();
        idle.unwrap_or_else(|| Link::new(Arc::clone(&self.route), self.client))
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
    route: Arc<Route>,
    client: usize,
    /// It was open before.
    opened: bool,
    /// How often it was opened again for the next request, before that.
    owed: u32,
    connection: Option<Connection>,
    timeout: Timeout,
    /// The last reply, if its request had one.
    reply: Option<Reply>,
}

impl Link {
    fn new(route: Arc<Route>, client: usize) -> Self {
        Self {
            route,
            client,
            opened: false,
            owed: 0,
            connection: None,
            timeout: Timeout::default(),
            reply: None,
        }
    }

    /// The headers of the last reply.
    pub fn headers(&self) -> Vec<(String, String)> {
        self.connection.as_ref().map(Connection::headers).unwrap_or_default()
    }

    fn is_cut_off(&mut self) -> bool {
        self.connection.as_mut().is_none_or(Connection::was_cut)
    }

    fn body(&self) -> Option<&[u8]> {
        let connection = self.connection.as_ref()?;
        self.reply.as_ref().map(|reply| connection.body(reply))
    }

    /// Opens the connection unless it can be used as it is; tells how often it was opened again for that.
    async fn connect(&mut self, deadline: Instant) -> Result<u32, DialError> {
        if self.connection.as_mut().is_some_and(Connection::usable) {
            return Ok(0);
        }
        // The last reply lies in the old one.
        (self.connection, self.reply) = (None, None);
        self.connection = Some(Connection::open(&self.route, self.client, deadline).await?);
        Ok(u32::from(std::mem::replace(&mut self.opened, true)))
    }

    /// Sends one request, on a new connection if the old one was closed meanwhile, and judges its reply after the
    /// clock has stopped. Nothing is sent twice.
    pub async fn call(
        &mut self,
        head: &mut Head,
        body: Payload<'_>,
        timeout: Duration,
        judge: impl FnOnce(u16, &[u8]) -> ReplyOutcome,
    ) -> Outcome {
        self.reply = None;
        let deadline = Instant::now() + timeout;
        let opened = self.connect(deadline).await;
        let sent = Instant::now();
        let (connection, reconnects) = match (self.connection.as_mut(), opened) {
            (Some(connection), Ok(reconnects)) => (connection, reconnects + std::mem::take(&mut self.owed)),
            (_, opened) => return failed(sent, connect_failure(opened.err()), Traffic::default()),
        };
        let before = connection.crossed();
        let exchanged = self.timeout.until(deadline, connection.exchange(head, body.bytes)).await;
        let done = Instant::now();
        let traffic =
            Traffic { reconnects, content_out: body.content as u64, ..between(before, connection.crossed()) };
        let exchanged = exchanged.unwrap_or(Err(ExchangeError::Late(timeout)));
        // Decompressing is no part of the service.
        let reply = match exchanged.and_then(|reply| connection.decode(reply)) {
            Ok(reply) => reply,
            Err(error) => {
                self.connection = None;
                return Outcome { done, free: done, ..failed(sent, exchange_failure(&error), traffic) };
            }
        };
        let content = connection.body(&reply);
        let (status, content_in) = (reply.status, content.len() as u64);
        let result = judge(status, content);
        self.reply = Some(reply);
        Outcome {
            first_sent: sent,
            sent,
            done,
            free: done,
            result,
            status,
            retries: 0,
            traffic: Traffic { content_in, ..traffic },
            sub_operations: Vec::new(),
        }
    }
}

/// The traffic of a request, but for what only it knows.
fn between(before: Crossed, after: Crossed) -> Traffic {
    let (bytes_out, bytes_in) = (after.out - before.out, after.inward - before.inward);
    Traffic { requests: 1, bytes_out, bytes_in, ..Traffic::default() }
}

fn failed(sent: Instant, result: ReplyOutcome, traffic: Traffic) -> Outcome {
    let done = Instant::now();
    Outcome { first_sent: sent, sent, done, free: done, result, traffic, ..Outcome::nothing() }
}

fn connect_failure(error: Option<DialError>) -> ReplyOutcome {
    let class = if matches!(error, Some(DialError::Tls(_))) { ErrorClass::Tls } else { ErrorClass::Connect };
    let reason = error.map_or_else(|| "no connection".into(), |error| error.to_string());
    ReplyOutcome::failure(class, 0, "", reason)
}

fn exchange_failure(error: &ExchangeError) -> ReplyOutcome {
    let (class, reason) = match error {
        ExchangeError::Io(io) if tls_error(io).is_some() => (ErrorClass::Tls, format!("TLS: {io}")),
        ExchangeError::Late(_) => (ErrorClass::Timeout, error.to_string()),
        ExchangeError::Io(_) | ExchangeError::Closed => (ErrorClass::Reset, error.to_string()),
        _ => (ErrorClass::Protocol, error.to_string()),
    };
    ReplyOutcome::failure(class, 0, "", reason)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    /// Waits until the other side's end has arrived.
    async fn await_cut(links: &Links) {
        while !links.is_cut_off() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn what_is_cut_while_nobody_uses_it_is_opened_again_once_and_refused_by_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let routes: Routes = Arc::from([Arc::new(Route::plain(vec![listener.local_addr().unwrap()]))]);
        runtime.block_on(async {
            let links = Links::of_client(&routes, 0);
            assert!(!links.is_cut_off(), "there is none yet");
            links.connect(soon()).await.unwrap();
            let open = listener.accept().unwrap();
            assert!(!links.is_cut_off());
            drop(open);
            await_cut(&links).await;
            links.reopen(soon()).await.unwrap();
            drop(listener.accept().unwrap());
            let link = links.take();
            assert_eq!(link.owed, 1, "the next request counts it");
            links.give_back(link);
            await_cut(&links).await;
            links.reopen(soon()).await.unwrap();
            // Nothing was sent since: a server that closes what is idle is left in peace.
            drop(listener);
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(!links.is_cut_off());
            drop(links.take());
            assert!(links.connect(soon()).await.is_err(), "nobody listens");
            assert!(links.is_cut_off());
            assert!(links.reopen(soon()).await.is_err());
        });
    }
}
