//! The connections of one client, and the exchange of a request and its response on one of them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_record::Traffic;

use crate::transport::byte_counts::ByteCounts;
use crate::transport::connect::{ConnectError, Endpoint, Endpoints};
use crate::transport::http::{Connection, ExchangeError, RequestHead};
use crate::transport::timeout::RequestTimer;

/// The connections of one client to its host. Most clients need one; operations with concurrent requests open more
/// connections, which stay open.
#[derive(Debug)]
pub struct ConnectionPool {
    endpoint: Arc<Endpoint>,
    assignment: HostAssignment,
    /// Idle connections; the most recently used one is at the end.
    #[allow(
        clippy::vec_box,
        reason = "a connection moves twice per request, and copying it costs more than copying a pointer"
    )]
    idle: RefCell<Vec<Box<PooledConnection>>>,
    /// Whether a connection has been reopened since any of them was last used.
    reopened_idle: Cell<bool>,
    /// The connection that [`ConnectionPool::reconnect`] is reopening. `None` as soon as a request that could not wait has opened a connection in its place.
    reopening: Cell<Option<ReopeningConnection>>,
}

/// What a request that replaces a connection takes over from it while it is being reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReopeningConnection {
    /// Reconnects that no request has counted yet.
    uncounted_reconnects: u32,
}

/// The host of a cluster that a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAssignment {
    /// Position of the host among the hosts of the cluster.
    pub host_index: usize,
    /// Number of the client among those of the host, from 0; determines which of the host's addresses it tries first.
    pub client_number_on_host: usize,
}

impl HostAssignment {
    /// Assigns a client of a race, given by its number, to one of `hosts` hosts, round-robin.
    pub fn new(race_client: u32, hosts: usize) -> Self {
        Self { host_index: race_client as usize % hosts, client_number_on_host: race_client as usize / hosts }
    }
}

impl ConnectionPool {
    /// Creates the pool of a client of a race for one cluster. Does not open a connection.
    pub fn for_client(endpoints: &Endpoints, race_client: u32) -> Self {
        let assignment = HostAssignment::new(race_client, endpoints.len());
        Self {
            endpoint: Arc::clone(&endpoints[assignment.host_index]),
            assignment,
            idle: RefCell::default(),
            reopened_idle: Cell::new(false),
            reopening: Cell::new(None),
        }
    }

    /// Returns the position of the client's host among the hosts of the cluster.
    pub fn host_index(&self) -> usize {
        self.assignment.host_index
    }

    /// Returns the host and port.
    pub fn authority(&self) -> &str {
        self.endpoint.authority()
    }

    /// Opens a connection before `deadline`, unless an idle one can be used.
    pub async fn ensure_connected(&self, deadline: Instant) -> Result<(), ConnectError> {
        let mut connection = self.acquire();
        let reconnects = connection.ensure_open(deadline).await;
        self.release(connection);
        reconnects.map(drop)
    }

    /// Returns whether the idle connection is to be opened again: it was never open, the server closed it unannounced,
    /// or the last request failed. A close that a response announced does not count. Returns `false` after
    /// [`ConnectionPool::reconnect`] until the next request, so that a client that sends rarely does not repeatedly
    /// reconnect to a server that closes idle connections.
    pub fn broke_while_idle(&self) -> bool {
        !self.reopened_idle.get()
            && self.idle.borrow_mut().last_mut().is_some_and(|connection| connection.broke_while_idle())
    }

    /// Reopens the idle connection, outside any measured time. The reconnect is counted in the next request. If a
    /// request is due in the meantime, it opens a connection itself, which replaces this one.
    pub async fn reconnect(&self, deadline: Instant) -> Result<(), ConnectError> {
        let mut connection = self.acquire();
        let uncounted_reconnects = connection.uncounted_reconnects;
        self.reopening.set(Some(ReopeningConnection { uncounted_reconnects }));
        let reconnects = connection.ensure_open(deadline).await;
        if self.reopening.take().is_some() {
            connection.uncounted_reconnects += reconnects.as_ref().copied().unwrap_or(0);
            self.release(connection);
            self.reopened_idle.set(true);
        }
        reconnects.map(drop)
    }

    /// Takes the most recently used connection, or a new one that is not connected yet. A connection that is dropped
    /// instead of released is closed.
    pub fn acquire(&self) -> Box<PooledConnection> {
        self.reopened_idle.set(false);
        let idle = self.idle.borrow_mut().pop();
        idle.unwrap_or_else(|| self.new_connection())
    }

    /// Creates a connection that is not connected yet. It replaces the one that is being reopened, if there is one, so
    /// that opening it counts as a reconnect.
    #[cold]
    fn new_connection(&self) -> Box<PooledConnection> {
        let client_number_on_host = self.assignment.client_number_on_host;
        let mut connection = PooledConnection::new(Arc::clone(&self.endpoint), client_number_on_host);
        if let Some(ReopeningConnection { uncounted_reconnects }) = self.reopening.take() {
            connection.was_open = true;
            connection.uncounted_reconnects = uncounted_reconnects;
        }
        Box::new(connection)
    }

    /// Returns a connection to the pool.
    pub fn release(&self, connection: Box<PooledConnection>) {
        self.idle.borrow_mut().push(connection);
    }
}

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestBody<'a> {
    /// The bytes to send, which may be compressed.
    pub bytes: &'a [u8],
    /// Length of the body before compression, in bytes.
    pub uncompressed_len: usize,
}

/// One request and its response.
#[derive(Debug)]
pub struct Exchange<T> {
    /// When sending began: after connecting, before the first byte.
    pub sent: Instant,
    /// When the last byte of the response arrived, or the exchange failed.
    pub done: Instant,
    /// Numbers of requests sent and of bytes sent and received.
    pub traffic: Traffic,
    /// HTTP status of the response, or 0 if there is none.
    pub status: u16,
    /// The result of checking the response, or the reason why there is none.
    pub result: Result<T, RequestError>,
}

/// A complete response, as passed to its check.
#[derive(Debug, Clone, Copy)]
pub struct ResponseView<'a> {
    /// HTTP status.
    pub status: u16,
    /// The body, decompressed.
    pub body: &'a [u8],
}

/// An error from a request on a connection of the pool: from connecting, or from the exchange.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection failed, or the response is not valid.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
}

/// A connection of a pool. It is reopened if it was closed.
#[derive(Debug)]
pub struct PooledConnection {
    endpoint: Arc<Endpoint>,
    /// Number of the client among those of the host.
    client_number_on_host: usize,
    /// Whether the connection has been open before.
    was_open: bool,
    /// Number of reconnects to be counted in the next request.
    uncounted_reconnects: u32,
    connection: Option<Connection>,
    timer: RequestTimer,
}

impl PooledConnection {
    fn new(endpoint: Arc<Endpoint>, client_number_on_host: usize) -> Self {
        Self {
            endpoint,
            client_number_on_host,
            was_open: false,
            uncounted_reconnects: 0,
            connection: None,
            timer: RequestTimer::default(),
        }
    }

    /// Returns the headers of the last response.
    pub fn headers(&self) -> Vec<(String, String)> {
        self.connection.as_ref().map(Connection::headers).unwrap_or_default()
    }

    fn broke_while_idle(&mut self) -> bool {
        self.connection.as_mut().is_none_or(Connection::broke_while_idle)
    }

    /// Opens the connection unless it is ready. Returns the number of reconnects.
    async fn ensure_open(&mut self, deadline: Instant) -> Result<u32, ConnectError> {
        if self.connection.as_mut().is_some_and(Connection::is_ready) {
            return Ok(0);
        }
        self.connection = None;
        let stream = self.endpoint.connect(self.client_number_on_host, deadline).await?;
        self.connection = Some(Connection::new(stream));
        Ok(u32::from(std::mem::replace(&mut self.was_open, true)))
    }

    /// Sends one request and receives its response. Opens a new connection first if the old one has been closed, but
    /// never sends a request twice. `check` is called with the response after the exchange has been timed.
    pub async fn exchange<T>(
        &mut self,
        head: &mut RequestHead,
        body: RequestBody<'_>,
        timeout: Duration,
        check: impl FnOnce(ResponseView<'_>) -> T,
    ) -> Exchange<T> {
        let deadline = Instant::now() + timeout;
        let reconnects = self.ensure_open(deadline).await;
        let sent = Instant::now();
        let (connection, reconnects) = match (self.connection.as_mut(), reconnects) {
            (Some(connection), Ok(reconnects)) => {
                (connection, reconnects + std::mem::take(&mut self.uncounted_reconnects))
            }
            (_, reconnects) => {
                let error = reconnects.err().map_or(ExchangeError::Closed.into(), RequestError::Connect);
                let traffic = Traffic::default();
                return Exchange { sent, done: Instant::now(), traffic, status: 0, result: Err(error) };
            }
        };
        let before = connection.byte_counts();
        let exchanged = self.timer.timeout_at(deadline, connection.exchange(head, body.bytes)).await;
        let done = Instant::now();
        let content_out = body.uncompressed_len as u64;
        let traffic =
            Traffic { reconnects, content_out, ..traffic_between(before, connection.byte_counts()) };
        let exchanged = exchanged.unwrap_or(Err(ExchangeError::Timeout(timeout)));
        let status = exchanged.as_ref().map_or(0, |response| response.status);
        // Decompression is not part of the service time.
        let response = match exchanged.and_then(|response| connection.decompress(response)) {
            Ok(response) => response,
            Err(error) => {
                self.connection = None;
                return Exchange { sent, done, traffic, status, result: Err(error.into()) };
            }
        };
        let content = connection.body(&response);
        let traffic = Traffic { content_in: content.len() as u64, ..traffic };
        let result = Ok(check(ResponseView { status, body: content }));
        Exchange { sent, done, traffic, status, result }
    }
}

/// Returns the bytes of one request on a connection.
fn traffic_between(before: ByteCounts, after: ByteCounts) -> Traffic {
    let (bytes_out, bytes_in) = (after.sent - before.sent, after.received - before.received);
    Traffic { requests: 1, bytes_out, bytes_in, ..Traffic::default() }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    /// A runtime, a listening server, and the endpoints of a client that connects to it.
    fn server() -> (tokio::runtime::Runtime, TcpListener, Endpoints) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::plain(vec![listener.local_addr().unwrap()]);
        (runtime, listener, Arc::from([Arc::new(endpoint)]))
    }

    /// Waits until the client has detected that the server closed the connection.
    async fn await_close(pool: &ConnectionPool) {
        while !pool.broke_while_idle() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn a_request_that_is_due_while_the_connection_is_reopened_replaces_it_and_counts_the_reconnect() {
        let (runtime, listener, endpoints) = server();
        runtime.block_on(async {
            let pool = ConnectionPool::for_client(&endpoints, 0);
            pool.ensure_connected(soon()).await.unwrap();
            drop(listener.accept().unwrap());
            await_close(&pool).await;
            let request = async {
                let mut connection = pool.acquire();
                let reconnects = connection.ensure_open(soon()).await.unwrap();
                pool.release(connection);
                reconnects
            };
            let (reopened, reconnects) = tokio::join!(pool.reconnect(soon()), request);
            reopened.unwrap();
            assert_eq!((reconnects, pool.idle.borrow().len()), (1, 1));
            assert_eq!(pool.acquire().uncounted_reconnects, 0, "the reconnect is counted once");
        });
    }

    #[test]
    fn an_idle_connection_closed_by_the_server_is_reopened_once() {
        let (runtime, listener, endpoints) = server();
        runtime.block_on(async {
            let pool = ConnectionPool::for_client(&endpoints, 0);
            assert!(!pool.broke_while_idle(), "no connection is open yet");
            pool.ensure_connected(soon()).await.unwrap();
            let open = listener.accept().unwrap();
            assert!(!pool.broke_while_idle());
            drop(open);
            await_close(&pool).await;
            pool.reconnect(soon()).await.unwrap();
            drop(listener.accept().unwrap());
            let connection = pool.acquire();
            assert_eq!(connection.uncounted_reconnects, 1, "the reconnect is counted in the next request");
            pool.release(connection);
            await_close(&pool).await;
            pool.reconnect(soon()).await.unwrap();
            // If the server has closed the connection again before the next request, the client does not reconnect.
            drop(listener);
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(!pool.broke_while_idle());
            drop(pool.acquire());
            assert!(pool.ensure_connected(soon()).await.is_err(), "the port must be closed");
            assert!(pool.broke_while_idle());
            assert!(pool.reconnect(soon()).await.is_err());
        });
    }
}
