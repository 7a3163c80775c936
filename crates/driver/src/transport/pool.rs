//! The connections of one client to the hosts of a cluster.

use std::rc::Rc;
use std::time::{Duration, Instant};

use pacenote_record::{ClientOverhead, ErrorClass, Traffic};

use crate::transport::connect::{ConnectError, Endpoints};
use crate::transport::exchange::{Exchange, RequestBody, RequestError, ResponseView};
use crate::transport::host_connections::{HostConnections, TakenConnection};
use crate::transport::http::RequestHead;
use crate::transport::overhead::OverheadCounter;
use crate::transport::rotation::{HostFailure, HostRotation, Trial};

/// Interval at which a thread checks the idle connections of its clients, and whether hosts are to be tried again.
pub const IDLE_CHECK: Duration = Duration::from_millis(500);

/// Maximum number of connections to hosts that are set aside which a thread opens in one check: a host that is back
/// gets its clients step by step.
const MAX_TRIALS: usize = 16;

/// One check of the connections of a thread's clients: which of them are opened.
#[derive(Debug)]
pub struct IdleCheck {
    now: Instant,
    deadline: Instant,
    reopens_idle: bool,
    /// Number of hosts that may still be tried again.
    trials_left: usize,
}

/// The connections of one client to a cluster. The client sends its requests to the hosts in turn. A host that fails
/// is set aside, unless it is the only one, and tried again later, outside any measured time.
#[derive(Debug)]
pub struct ConnectionPool {
    hosts: Box<[HostConnections]>,
    rotation: HostRotation,
    overhead: Rc<OverheadCounter>,
}

/// A client, and the number of threads to which the clients of its race are assigned round-robin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientPlace {
    /// Number of the client in the race.
    pub race_client: u32,
    /// Number of threads.
    pub threads: usize,
}

/// A connection that is opened again, or for the first time, while no request waits for it.
#[derive(Debug)]
pub struct Reopening {
    pool: Rc<ConnectionPool>,
    host: usize,
    taken: TakenConnection,
    /// The trial of the host, if it is set aside.
    trial: Option<OpenTrial>,
}

/// A trial of a host. If it is dropped before its result is known, because the step has ended, the host may be tried
/// again at once.
#[derive(Debug)]
struct OpenTrial {
    pool: Rc<ConnectionPool>,
    trial: Trial,
}

impl OpenTrial {
    fn begin(pool: &Rc<ConnectionPool>, host: usize, now: Instant, deadline: Instant) -> Option<Self> {
        let trial = pool.rotation.begin_trial(host, now, deadline)?;
        Some(Self { pool: Rc::clone(pool), trial })
    }
}

impl Drop for OpenTrial {
    fn drop(&mut self) {
        self.pool.rotation.abandon(self.trial);
    }
}

impl IdleCheck {
    /// Creates a check at `now`, whose connections are opened before `deadline`. Connections that broke while they were
    /// idle are opened if `reopens_idle` is set.
    #[must_use]
    pub fn new(now: Instant, deadline: Instant, reopens_idle: bool) -> Self {
        Self { now, deadline, reopens_idle, trials_left: MAX_TRIALS }
    }

    /// Begins a trial of a host that is set aside, if it is to be tried again in this check.
    fn begin_trial(&mut self, pool: &Rc<ConnectionPool>, host: usize) -> Option<OpenTrial> {
        let trial =
            (self.trials_left > 0).then(|| OpenTrial::begin(pool, host, self.now, self.deadline)).flatten();
        self.trials_left -= usize::from(trial.is_some());
        trial
    }
}

impl ClientPlace {
    /// Returns the position, among `choices`, with which the client begins. Successive clients begin with successive
    /// choices, and so do the clients of each thread.
    fn first_of(self, choices: usize) -> usize {
        let (client, choices, threads) = (self.race_client as usize, choices.max(1), self.threads.max(1));
        // Without the shift, all clients of a thread would begin with the same choices if the numbers of threads and
        // choices have a common divisor.
        let shift = client / (choices / greatest_common_divisor(choices, threads) * threads);
        (client + shift) % choices
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl ConnectionPool {
    /// Creates the pool of a client for one cluster. Does not open a connection.
    pub fn for_client(endpoints: &Endpoints, client: ClientPlace) -> Self {
        let overhead = Rc::default();
        let connections =
            |endpoint| HostConnections::new(endpoint, client.first_of(endpoint.address_count()), &overhead);
        let rotation = HostRotation::new(endpoints.len(), client.first_of(endpoints.len()));
        Self { hosts: endpoints.iter().map(connections).collect(), rotation, overhead }
    }

    /// Returns the hosts and ports of the cluster, for messages.
    pub fn hosts(&self) -> String {
        let authorities: Vec<&str> = self.hosts.iter().map(HostConnections::authority).collect();
        authorities.join(", ")
    }

    /// After a connection could not be opened, returns the hosts and ports of the cluster if no host is left: it is the
    /// only one, or all are set aside because they cannot be reached.
    pub fn unreachable_hosts(&self) -> Option<String> {
        self.rotation.is_exhausted().then(|| self.hosts())
    }

    /// Returns, for each host, a future that opens a connection before `deadline`, unless an idle one can be used or
    /// the host is set aside and not yet to be tried again. If that fails, the host is set aside and the error
    /// returned, with the pool.
    pub fn connect_hosts(
        self: &Rc<Self>,
        deadline: Instant,
    ) -> impl Iterator<Item = impl Future<Output = Result<(), (Rc<Self>, ConnectError)>> + use<>> {
        (0..self.hosts.len()).map(move |host| {
            let pool = Rc::clone(self);
            async move { pool.ensure_connected(host, deadline).await.map_err(|error| (pool, error)) }
        })
    }

    async fn ensure_connected(self: &Rc<Self>, host: usize, deadline: Instant) -> Result<(), ConnectError> {
        let trial = OpenTrial::begin(self, host, Instant::now(), deadline);
        if trial.is_none() && self.rotation.is_set_aside(host) {
            return Ok(());
        }
        let connected = self.hosts[host].ensure_connected(deadline).await;
        self.end_trial(host, connected)
    }

    /// Records the result of opening a connection.
    fn end_trial(&self, host: usize, connected: Result<(), ConnectError>) -> Result<(), ConnectError> {
        match &connected {
            Ok(()) => self.rotation.reinstate(host),
            Err(_) => self.record_failure(host, HostFailure::NoConnection),
        }
        connected
    }

    #[cold]
    fn record_failure(&self, host: usize, failure: HostFailure) {
        let set_aside = self.rotation.failed(host, failure, Instant::now());
        self.hosts[host].count(|counted| {
            counted.connection_failures += u64::from(failure == HostFailure::NoConnection);
            counted.set_aside += u64::from(set_aside);
        });
    }

    /// Takes the connections that should be opened while no request waits for them: those to hosts that are to be
    /// tried again and those that broke while they were idle, as the check allows.
    pub fn start_reopening(self: &Rc<Self>, check: &mut IdleCheck) -> Vec<Reopening> {
        let reopening = |host: usize| {
            let trial = if self.rotation.is_set_aside(host) {
                Some(check.begin_trial(self, host)?)
            } else if check.reopens_idle && self.hosts[host].broke_while_idle() {
                None
            } else {
                return None;
            };
            let taken = self.hosts[host].take_for_reopening();
            Some(Reopening { pool: Rc::clone(self), host, taken, trial })
        };
        (0..self.hosts.len()).filter_map(reopening).collect()
    }

    /// Takes the traffic of the requests since the last call, including those that were dropped before they ended.
    pub fn take_operation_traffic(&self) -> Traffic {
        let of_hosts = self.hosts.iter().map(HostConnections::take_operation_traffic);
        of_hosts.fold(Traffic::default(), |sum, traffic| sum + traffic)
    }

    /// Looks once for data that has arrived on idle connections although no request asked for it.
    pub fn look_for_unsolicited(&self) {
        self.hosts.iter().for_each(HostConnections::close_unsolicited);
    }

    /// Counts a request that cleaned up.
    pub fn count_clean_up(&self, error_class: ErrorClass, duration_ns: u64) {
        self.overhead.add_clean_up(error_class, duration_ns);
    }

    /// Takes what the client has done besides its operations since the last call.
    pub fn take_overhead(&self) -> ClientOverhead {
        self.overhead.take()
    }

    /// Sends one request to the host whose turn it is and receives its response. `heads` has one head for each host.
    /// Opens a connection first if there is none, but never sends a request twice. `check` is called with the response
    /// after the exchange has been timed.
    pub async fn exchange<T>(
        &self,
        heads: &mut [RequestHead],
        body: RequestBody<'_>,
        timeout: Duration,
        check: impl AsyncFnOnce(ResponseView<'_>) -> T,
    ) -> Exchange<T> {
        let host = self.rotation.next();
        let connections = &self.hosts[host];
        let mut connection = connections.acquire();
        let exchange = connection.exchange(&mut heads[host], body, timeout, check).await;
        connections.release(connection);
        connections.count(|counted| counted.requests += u64::from(exchange.traffic.requests));
        connections.add_operation_traffic(exchange.traffic);
        match &exchange.result {
            Ok(_) => self.rotation.responded(host),
            Err(RequestError::Connect(_)) => self.record_failure(host, HostFailure::NoConnection),
            Err(RequestError::Exchange(error)) if error.is_network_failure() => {
                self.record_failure(host, HostFailure::NoResponse);
            }
            Err(RequestError::Exchange(_)) => {}
        }
        exchange
    }
}

impl Reopening {
    /// Opens the connection before `deadline`. Returns the error if the client then has no host left.
    pub async fn finish(self, deadline: Instant) -> Result<(), ConnectError> {
        let Self { pool, host, taken, trial: _open_trial } = self;
        // A request that has opened a connection in the meantime has recorded the result.
        let Some(opened) = pool.hosts[host].reopen(taken, deadline).await else { return Ok(()) };
        match pool.end_trial(host, opened) {
            Err(error) if pool.rotation.is_exhausted() => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::transport::connect::Endpoint;

    #[test]
    fn a_host_is_not_tried_again_by_all_clients_at_once() {
        let endpoint = || Arc::new(Endpoint::plain(vec![([127, 0, 0, 1], 9).into()]));
        let endpoints: Endpoints = [endpoint(), endpoint()].into();
        let clients: Vec<_> = (0..40)
            .map(|race_client| {
                let place = ClientPlace { race_client, threads: 1 };
                Rc::new(ConnectionPool::for_client(&endpoints, place))
            })
            .collect();
        for client in &clients {
            client.record_failure(1, HostFailure::NoResponse);
        }
        let now = Instant::now();
        let tried = |at| {
            let mut check = IdleCheck::new(at, at + Duration::from_mins(1), false);
            clients.iter().flat_map(|client| client.start_reopening(&mut check)).collect::<Vec<_>>()
        };
        assert!(tried(now).is_empty());
        let due = now + Duration::from_secs(2);
        let mut trials = [tried(due), tried(due), tried(due), tried(due)];
        assert_eq!(trials.each_ref().map(Vec::len), [16, 16, 8, 0]);
        // Those of a step that ends are dropped.
        trials[1].clear();
        assert_eq!(tried(due).len(), 16);
    }

    #[test]
    fn a_connection_that_is_dropped_while_it_is_opened_leaves_its_host_to_the_next_step() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = || Arc::new(Endpoint::plain(vec![listener.local_addr().unwrap()]));
        let endpoints: Endpoints = [endpoint(), endpoint()].into();
        let place = ClientPlace { race_client: 0, threads: 1 };
        let pool = Rc::new(ConnectionPool::for_client(&endpoints, place));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let long_ago = Instant::now().checked_sub(Duration::from_mins(1)).unwrap();
        pool.rotation.failed(1, HostFailure::NoResponse, long_ago);
        let deadline = Instant::now() + Duration::from_mins(1);
        runtime.block_on(async {
            let mut connecting = Box::pin(pool.ensure_connected(1, deadline));
            let polled =
                std::future::poll_fn(|context| std::task::Poll::Ready(connecting.as_mut().poll(context)));
            assert!(polled.await.is_pending() && pool.rotation.is_set_aside(1));
            assert!(OpenTrial::begin(&pool, 1, Instant::now(), deadline).is_none(), "a trial is in progress");
            drop(connecting);
            pool.ensure_connected(1, deadline).await.unwrap();
        });
        assert!(!pool.rotation.is_set_aside(1));
    }

    #[test]
    fn the_clients_of_each_thread_begin_with_all_hosts() {
        for (threads, hosts) in [(1, 3), (2, 2), (2, 3), (2, 4), (4, 2), (4, 6), (8, 8)] {
            let clients = u32::try_from(threads * hosts * hosts).unwrap();
            for thread in 0..threads {
                let mut begin_with = vec![0; hosts];
                for race_client in (0..clients).filter(|client| *client as usize % threads == thread) {
                    begin_with[ClientPlace { race_client, threads }.first_of(hosts)] += 1;
                }
                assert!(
                    begin_with.iter().all(|number| *number == hosts),
                    "{threads} {hosts}: {begin_with:?}"
                );
            }
            // The first clients begin with different hosts.
            let first = |race_client| ClientPlace { race_client, threads }.first_of(hosts);
            assert_eq!((0..2).map(first).collect::<Vec<_>>(), [0, 1]);
        }
    }
}
