//! The connections of one client to one host, and the exchange of a request and its response on one of them.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_record::Traffic;

use crate::transport::byte_counts::ByteCounts;
use crate::transport::connect::{ConnectError, Endpoint};
use crate::transport::exchange::{Exchange, RequestBody, RequestError, ResponseView};
use crate::transport::host_counts::HostUse;
use crate::transport::http::{Connection, ExchangeError, RequestHead};
use crate::transport::overhead::{ConnectionWait, OverheadCounter};
use crate::transport::timeout::RequestTimer;

/// The connections of one client to one host. Most clients need one; operations with concurrent requests open more
/// connections, which stay open.
#[derive(Debug)]
pub struct HostConnections {
    endpoint: Arc<Endpoint>,
    /// Position, among the host's addresses, of the one to try first.
    first_address: usize,
    /// Idle connections; the most recently used one is at the end.
    #[allow(
        clippy::vec_box,
        reason = "a connection moves twice per request, and copying it costs more than copying a pointer"
    )]
    idle: RefCell<Vec<Box<PooledConnection>>>,
    /// Whether a connection has been reopened since any of them was last used.
    reopened_idle: Cell<bool>,
    /// The connection that is being reopened. `None` as soon as a request that could not wait has opened a connection
    /// in its place.
    reopening: Cell<Option<ReopeningConnection>>,
    /// Number of connections that have been taken for reopening.
    reopenings: Cell<u64>,
    counted: Cell<HostUse>,
    /// Traffic of the client's current operation. Connections that are dropped during a request add their part.
    operation_traffic: Rc<Cell<Traffic>>,
    /// What the client does besides its operations.
    overhead: Rc<OverheadCounter>,
}

/// What a request that replaces a connection takes over from it while it is being reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReopeningConnection {
    /// Number of the reopening.
    number: u64,
    /// Whether the connection has been open before.
    was_open: bool,
    /// Reconnects that no request has counted yet.
    uncounted_reconnects: u32,
}

/// A connection that has been taken from its pool to be reopened.
#[derive(Debug)]
pub struct TakenConnection {
    number: u64,
    connection: Box<PooledConnection>,
}

impl HostConnections {
    /// Creates the pool of a client with this overhead. Does not open a connection.
    pub fn new(endpoint: &Arc<Endpoint>, first_address: usize, overhead: &Rc<OverheadCounter>) -> Self {
        Self {
            endpoint: Arc::clone(endpoint),
            first_address,
            idle: RefCell::default(),
            reopened_idle: Cell::new(false),
            reopening: Cell::new(None),
            reopenings: Cell::new(0),
            counted: Cell::default(),
            operation_traffic: Rc::default(),
            overhead: Rc::clone(overhead),
        }
    }

    /// Returns the host and port.
    pub fn authority(&self) -> &str {
        self.endpoint.authority()
    }

    /// Counts what happened on the connections.
    pub fn count(&self, count: impl FnOnce(&mut HostUse)) {
        let mut counted = self.counted.get();
        count(&mut counted);
        self.counted.set(counted);
    }

    /// Adds traffic of the client's current operation.
    pub fn add_operation_traffic(&self, traffic: Traffic) {
        self.operation_traffic.set(self.operation_traffic.get() + traffic);
    }

    /// Takes the traffic of the client's current operation.
    pub fn take_operation_traffic(&self) -> Traffic {
        self.operation_traffic.take()
    }

    /// Closes the idle connections on which data has arrived that no request asked for, and counts the data.
    pub fn close_unsolicited(&self) {
        for connection in self.idle.borrow_mut().iter_mut() {
            if !connection.is_open() {
                connection.close_unsolicited();
            }
        }
    }

    /// Opens a connection before `deadline`, unless an idle one can be used. A reconnect is counted in the next
    /// request.
    pub async fn ensure_connected(&self, deadline: Instant) -> Result<(), ConnectError> {
        let mut connection = self.acquire();
        let opened = connection.reopen(deadline).await;
        self.release(connection);
        opened
    }

    /// Returns whether the idle connection is to be opened again: it was never open, the server closed it unannounced,
    /// or the last request failed. A close that a response announced does not count. Returns `false` after
    /// [`HostConnections::reopen`] until the next request, so that a client that sends rarely does not repeatedly
    /// reconnect to a server that closes idle connections.
    pub fn broke_while_idle(&self) -> bool {
        !self.reopened_idle.get()
            && self.idle.borrow_mut().last_mut().is_some_and(|connection| connection.broke_while_idle())
    }

    /// Takes the idle connection, or a new one, to reopen it. If a request is due before it has been reopened, the
    /// request opens a connection itself, which replaces this one.
    pub fn take_for_reopening(&self) -> TakenConnection {
        let connection = self.acquire();
        let number = self.reopenings.get() + 1;
        self.reopenings.set(number);
        let PooledConnection { was_open, uncounted_reconnects, .. } = *connection;
        self.reopening.set(Some(ReopeningConnection { number, was_open, uncounted_reconnects }));
        TakenConnection { number, connection }
    }

    /// Reopens a connection outside any measured time, and returns it to the pool even if that fails. The reconnect is
    /// counted in the next request. Returns `None` if another connection has replaced this one, which is then closed.
    pub async fn reopen(
        &self,
        taken: TakenConnection,
        deadline: Instant,
    ) -> Option<Result<(), ConnectError>> {
        let TakenConnection { number, mut connection } = taken;
        let opened = connection.reopen(deadline).await;
        if self.reopening.get().is_none_or(|reopening| reopening.number != number) {
            return None;
        }
        self.reopening.set(None);
        self.release(connection);
        self.reopened_idle.set(true);
        Some(opened)
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
        let mut connection = PooledConnection::of(self);
        if let Some(replaced) = self.reopening.take() {
            connection.was_open = replaced.was_open;
            connection.uncounted_reconnects = replaced.uncounted_reconnects;
        }
        Box::new(connection)
    }

    /// Returns a connection to the pool.
    pub fn release(&self, connection: Box<PooledConnection>) {
        self.idle.borrow_mut().push(connection);
    }
}

impl Drop for HostConnections {
    fn drop(&mut self) {
        self.endpoint.counts().add(self.counted.get());
    }
}

/// A connection of a pool. It is reopened if it was closed.
#[derive(Debug)]
pub struct PooledConnection {
    endpoint: Arc<Endpoint>,
    /// Position, among the host's addresses, of the one to try first.
    first_address: usize,
    /// Whether the connection has been open before.
    was_open: bool,
    /// Number of reconnects to be counted in the next request.
    uncounted_reconnects: u32,
    connection: Option<Connection>,
    timer: RequestTimer,
    /// The request in flight, if there is one.
    in_flight: Option<InFlightRequest>,
    /// Traffic of the client's current operation.
    operation_traffic: Rc<Cell<Traffic>>,
    /// What the client does besides its operations.
    overhead: Rc<OverheadCounter>,
}

/// A request that has not ended.
#[derive(Debug, Clone, Copy)]
struct InFlightRequest {
    /// Bytes on the connection before it.
    before: ByteCounts,
    /// Length of its body before compression, in bytes.
    content_out: u64,
    /// Number of reconnects that it counts.
    reconnects: u32,
}

impl PooledConnection {
    /// Creates a connection of this pool.
    fn of(pool: &HostConnections) -> Self {
        Self {
            endpoint: Arc::clone(&pool.endpoint),
            first_address: pool.first_address,
            was_open: false,
            uncounted_reconnects: 0,
            connection: None,
            timer: RequestTimer::default(),
            in_flight: None,
            operation_traffic: Rc::clone(&pool.operation_traffic),
            overhead: Rc::clone(&pool.overhead),
        }
    }

    fn broke_while_idle(&mut self) -> bool {
        self.connection.as_mut().is_none_or(Connection::broke_while_idle)
    }

    /// Opens the connection unless it is ready. Returns the number of reconnects.
    async fn ensure_open(&mut self, deadline: Instant) -> Result<u32, ConnectError> {
        if self.is_open() { Ok(0) } else { self.open(deadline).await }
    }

    /// Returns whether the connection is ready for a request.
    fn is_open(&mut self) -> bool {
        self.connection.as_mut().is_some_and(Connection::is_ready)
    }

    /// Closes the connection if data has arrived that no request asked for, and counts the data.
    fn close_unsolicited(&mut self) {
        let bytes = self.connection.as_ref().map_or(0, Connection::unsolicited_bytes);
        if bytes > 0 {
            self.overhead.add_unsolicited(bytes);
            self.connection = None;
        }
    }

    /// Opens the connection, which is not ready. Returns the number of reconnects.
    async fn open(&mut self, deadline: Instant) -> Result<u32, ConnectError> {
        self.close_unsolicited();
        self.connection = None;
        let stream = self.endpoint.connect(self.first_address, deadline).await?;
        self.connection = Some(Connection::new(stream, Arc::clone(self.endpoint.response_memory())));
        Ok(u32::from(std::mem::replace(&mut self.was_open, true)))
    }

    /// Opens the connection, which is not ready, while a request waits for it. Returns the number of reconnects.
    async fn open_for_request(&mut self, deadline: Instant) -> Result<u32, ConnectError> {
        let _wait = ConnectionWait::begin(&self.overhead);
        self.open(deadline).await
    }

    /// Opens the connection unless it is ready. A reconnect is counted in the next request.
    async fn reopen(&mut self, deadline: Instant) -> Result<(), ConnectError> {
        self.uncounted_reconnects += self.ensure_open(deadline).await?;
        Ok(())
    }

    /// Sends one request and receives its response. Opens a new connection first if the old one has been closed, but
    /// never sends a request twice. `check` is called with the response after the exchange has been timed.
    pub async fn exchange<T>(
        &mut self,
        head: &mut RequestHead,
        body: RequestBody<'_>,
        timeout: Duration,
        check: impl AsyncFnOnce(ResponseView<'_>) -> T,
    ) -> Exchange<T> {
        let begun = Instant::now();
        let deadline = begun + timeout;
        let reconnects = if self.is_open() { Ok(0) } else { self.open_for_request(deadline).await };
        head.reserve(body.bytes.len());
        let sent = Instant::now();
        let (connection, reconnects) = match (self.connection.as_mut(), reconnects) {
            (Some(connection), Ok(reconnects)) => {
                (connection, reconnects + std::mem::take(&mut self.uncounted_reconnects))
            }
            (_, reconnects) => {
                let error = reconnects.err().map_or(ExchangeError::Closed.into(), RequestError::Connect);
                let traffic = Traffic::default();
                // Waiting for a host that does not answer is not lateness of an operation that is tried again.
                return Exchange {
                    sent: begun,
                    done: Instant::now(),
                    traffic,
                    status: 0,
                    result: Err(error),
                };
            }
        };
        let before = connection.byte_counts();
        let content_out = body.uncompressed_len as u64;
        self.in_flight = Some(InFlightRequest { before, content_out, reconnects });
        let exchanged = self.timer.timeout_at(deadline, pin!(connection.exchange(head, body.bytes))).await;
        let done = Instant::now();
        let traffic =
            Traffic { reconnects, content_out, ..traffic_between(before, connection.byte_counts()) };
        let exchanged = exchanged.unwrap_or(Err(ExchangeError::Timeout(timeout)));
        let status = exchanged.as_ref().map_or(0, |response| response.status);
        // Decompression is not part of the service time.
        let decompressed = match exchanged {
            Ok(response) if response.is_encoded() => connection.decompress(response).await,
            exchanged => exchanged,
        };
        let response = match decompressed {
            Ok(response) => response,
            Err(error) => {
                self.overhead.add_trailing(&error);
                self.connection = None;
                self.in_flight = None;
                return Exchange { sent, done, traffic, status, result: Err(error.into()) };
            }
        };
        let content = connection.body(&response);
        let traffic = Traffic { content_in: content.len() as u64, ..traffic };
        let result = Ok(check(ResponseView { status, body: content, connection }).await);
        connection.trim();
        self.in_flight = None;
        Exchange { sent, done, traffic, status, result }
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        // The operation was dropped while it waited for the response.
        if let (Some(InFlightRequest { before, content_out, reconnects }), Some(connection)) =
            (self.in_flight, &self.connection)
        {
            let traffic = traffic_between(before, connection.byte_counts());
            let traffic = Traffic { content_out, reconnects, ..traffic };
            self.operation_traffic.set(self.operation_traffic.get() + traffic);
        }
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

    /// A runtime, a listening server, and the connections of a client to it.
    fn server() -> (tokio::runtime::Runtime, TcpListener, HostConnections) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::plain(vec![listener.local_addr().unwrap()]);
        (runtime, listener, HostConnections::new(&Arc::new(endpoint), 0, &Rc::default()))
    }

    /// Waits until the client has detected that the server closed the connection.
    async fn await_close(pool: &HostConnections) {
        while !pool.broke_while_idle() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Opens a connection as a request would. Returns the reconnects that the request counts.
    async fn request(pool: &HostConnections) -> Result<u32, ConnectError> {
        let mut connection = pool.acquire();
        let reconnects = connection.ensure_open(soon()).await;
        let counted = reconnects.map(|number| number + std::mem::take(&mut connection.uncounted_reconnects));
        pool.release(connection);
        counted
    }

    async fn reopen(pool: &HostConnections) -> Option<Result<(), ConnectError>> {
        pool.reopen(pool.take_for_reopening(), soon()).await
    }

    #[test]
    fn a_request_that_is_due_before_the_connection_is_reopened_replaces_it_and_counts_the_reconnect() {
        let (runtime, listener, pool) = server();
        runtime.block_on(async {
            pool.ensure_connected(soon()).await.unwrap();
            drop(listener.accept().unwrap());
            await_close(&pool).await;
            // The reopening is polled only after the request has ended.
            let reopening = pool.reopen(pool.take_for_reopening(), soon());
            assert_eq!(request(&pool).await.unwrap(), 1);
            assert!(reopening.await.is_none(), "the request has replaced the connection");
            assert_eq!(pool.idle.borrow().len(), 1, "one connection is left");
            assert_eq!(request(&pool).await.unwrap(), 0, "the reconnect is counted once");
        });
    }

    #[test]
    fn a_reopening_that_was_replaced_reports_no_failure() {
        let (runtime, listener, pool) = server();
        runtime.block_on(async {
            pool.ensure_connected(soon()).await.unwrap();
            drop(listener.accept().unwrap());
            await_close(&pool).await;
            let taken = pool.take_for_reopening();
            request(&pool).await.unwrap();
            drop(listener);
            assert!(pool.reopen(taken, soon()).await.is_none());
        });
    }

    #[test]
    fn a_connection_that_is_opened_again_before_a_step_is_counted_in_the_next_request() {
        let (runtime, listener, pool) = server();
        runtime.block_on(async {
            pool.ensure_connected(soon()).await.unwrap();
            drop(listener.accept().unwrap());
            await_close(&pool).await;
            pool.ensure_connected(soon()).await.unwrap();
            assert_eq!(request(&pool).await.unwrap(), 1);
            assert_eq!(request(&pool).await.unwrap(), 0);
        });
    }

    #[test]
    fn an_idle_connection_closed_by_the_server_is_reopened_once() {
        let (runtime, listener, pool) = server();
        runtime.block_on(async {
            assert!(!pool.broke_while_idle(), "no connection is open yet");
            pool.ensure_connected(soon()).await.unwrap();
            let open = listener.accept().unwrap();
            assert!(!pool.broke_while_idle());
            drop(open);
            await_close(&pool).await;
            reopen(&pool).await.unwrap().unwrap();
            drop(listener.accept().unwrap());
            let connection = pool.acquire();
            assert_eq!(connection.uncounted_reconnects, 1, "the reconnect is counted in the next request");
            pool.release(connection);
            await_close(&pool).await;
            reopen(&pool).await.unwrap().unwrap();
            // If the server has closed the connection again before the next request, the client does not reconnect.
            drop(listener);
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(!pool.broke_while_idle());
            drop(pool.acquire());
            assert!(pool.ensure_connected(soon()).await.is_err(), "the port must be closed");
            assert!(pool.broke_while_idle());
            assert!(reopen(&pool).await.unwrap().is_err());
        });
    }
}
