//! The race as a whole: its clusters, its tasks, and when their operations are due.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::step::Step;
use crate::work::TaskWork;

/// The version of the document that this crate reads and writes.
pub const VERSION: u32 = 6;

/// A race as data: everything that the driver needs to run it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`VERSION`].
    pub version: u32,
    /// The race's id in file names and messages.
    pub race_id: String,
    /// Seed of all the driver's random choices: phases, arrivals, repeated ids.
    pub seed: u64,
    /// The cluster under test.
    pub target: Target,
    /// Other clusters to which runners may send requests.
    pub others: Vec<NamedTarget>,
    /// How the driver behaves.
    pub driver: DriverSettings,
    /// All tasks of the race; steps refer to them by position.
    pub tasks: Vec<PlannedTask>,
    /// The schedule: steps run one after another, and each ends with a join point of all clients.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Reads a plan and validates it.
    ///
    /// # Errors
    ///
    /// [`PlanError`] if the text is not a plan of this version or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text)?;
        plan.validate()?;
        Ok(plan)
    }

    /// Number of clients of the race: the highest number of a client in it, plus 1.
    #[must_use]
    pub fn race_client_count(&self) -> u32 {
        self.steps
            .iter()
            .flat_map(|step| &step.client_allocations)
            .map(|client| client.race_client.saturating_add(1))
            .max()
            .unwrap_or(0)
    }
}

/// A cluster, and how requests are sent to it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The cluster's hosts, to which each client sends its requests in turn; never empty.
    pub hosts: Vec<TargetHost>,
    /// Headers sent with every request, such as `authorization`. Values may be secret and are never printed.
    pub headers: Vec<(String, String)>,
    /// A header for each client of the race, by its number, that replaces the one with its name; empty if all clients
    /// send the same headers. Values may be secret and are never printed.
    #[serde(default)]
    pub client_headers: Vec<(String, String)>,
    /// Timeout, in milliseconds, for requests without their own.
    pub timeout_ms: u64,
    /// Whether request bodies are compressed with gzip. Compressed responses are requested with a header.
    pub compress: bool,
    /// Which certificates are trusted, and which certificate the driver presents.
    pub tls: TlsOptions,
}

impl fmt::Debug for Target {
    /// Omits the values of headers, which may be secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut target = out.debug_struct("Target");
        target.field("hosts", &self.hosts).field("headers", &headers).field("timeout_ms", &self.timeout_ms);
        target.field("client_headers", &self.client_headers.len());
        target.field("compress", &self.compress).field("tls", &self.tls).finish()
    }
}

/// TLS settings for the hosts of a cluster. All files are PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsOptions {
    /// File with the certificates of the trusted authorities; `null` for those that the system trusts.
    pub ca_file: Option<String>,
    /// File with the client's certificate chain; `null` if the driver presents no certificate.
    pub client_cert: Option<String>,
    /// File with the private key of the client's certificate; `null` if the key is in the certificate's file.
    pub client_key: Option<String>,
    /// Whether the host's certificate must be signed by a trusted authority.
    pub verify: bool,
    /// Whether the certificate must be valid for the name of the host.
    pub verify_host: bool,
    /// The name to request (SNI) and to verify; `null` for the host's name.
    pub server_name: Option<String>,
}

/// Another cluster to which runners may send requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTarget {
    /// The cluster's name in `--target-hosts`; never `default`.
    pub name: String,
    /// The cluster.
    pub target: Target,
}

/// One address of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetHost {
    /// HTTP or HTTPS.
    pub scheme: Scheme,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Prefix of every path: empty, or starting but not ending with `/`.
    pub path: String,
    /// The proxy to connect through; `null` if the driver connects directly.
    pub proxy: Option<TargetProxy>,
}

/// An HTTP proxy. It forwards plain requests, and tunnels TLS connections (`CONNECT`).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetProxy {
    /// How the driver connects to the proxy.
    pub scheme: Scheme,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Value of the header `proxy-authorization`, which is secret and never printed.
    pub authorization: Option<String>,
}

impl fmt::Debug for TargetProxy {
    /// Omits `authorization`, which is secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TargetProxy({:?} {}:{})", self.scheme, self.host, self.port)
    }
}

/// The protocol of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// HTTP/1.1 over TCP.
    Http,
    /// HTTP/1.1 over TLS.
    Https,
}

/// How the driver behaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverSettings {
    /// Number of OS threads that send requests, but at most one per client; 0 for one per core.
    pub threads: u32,
    /// How the race reacts to a failed request.
    pub on_error: OnError,
    /// Which individual samples are kept.
    pub samples: SampleRetention,
    /// How the kernel schedules the threads that send requests and the one that watches them.
    pub scheduling: DriverScheduling,
    /// How long before an operation is due its client stops sleeping and spins, in microseconds; 0 to never spin.
    #[serde(default)]
    pub spin_us: u32,
    /// Whether measured windows begin when the backlog of the warm-up is gone.
    #[serde(default)]
    pub warmup_drain: bool,
}

/// How the kernel schedules the driver's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverScheduling {
    /// With real-time priority if the process may have it, otherwise with a short slice.
    Auto,
    /// With real-time priority; a race that may not have it does not begin.
    Realtime,
    /// As the system does it.
    Normal,
}

/// Which individual samples are kept; totals and per-second series are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleRetention {
    /// All samples.
    All,
    /// No samples.
    None,
    /// The first 20 million samples of each task.
    Auto,
}

/// How the race reacts to a failed request (Rally's `--on-error`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// Failures are counted; a refused connection ends the race.
    Continue,
    /// Failures are counted, including refused connections.
    ContinueOnNetwork,
    /// The first failure ends the race, unless its task tolerates errors.
    Abort,
}

/// One task as the driver runs it: an operation, its clients, its pacing and when it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// Name of the task, unique within the plan.
    pub name: String,
    /// Name of the operation; several tasks may share it.
    pub operation: String,
    /// The operation's type, such as `bulk`.
    pub operation_type: String,
    /// Number of clients that run the task, at least 1.
    pub clients: u32,
    /// When operations are due.
    pub pacing: TaskPacing,
    /// The mean number of documents of an operation, if the schedule of each client follows from the documents that it
    /// has sent, as for a target rate in documents; `null` if it follows from the number of operations. The interval of
    /// `pacing` is that of such an operation: a client that has sent more or fewer documents waits for its next operation
    /// for longer or less. Clients of an open loop share a schedule, which never follows from documents.
    #[serde(default)]
    pub documents_per_operation: Option<f64>,
    /// Whether the task runs in an open loop: the clients on one worker share a schedule, and a free client takes the
    /// operation that is due next, so a slow client does not delay other operations; `clients` limits the connections
    /// in use. In a closed loop, every client has its own schedule.
    pub open_loop: bool,
    /// When the task ends.
    pub bound: TaskBound,
    /// Client i of n starts `ramp_up_s * i / n` seconds after the first.
    pub ramp_up_s: f64,
    /// Unit of the work done, such as `docs` or `ops`.
    pub unit: String,
    /// Whether failures of this task do not end the race under [`OnError::Abort`].
    pub tolerates_errors: bool,
    /// Whether a failure of this task ends the race whatever [`OnError`] says, because the tasks after it need it.
    pub must_succeed: bool,
    /// The work of every operation.
    pub work: TaskWork,
}

impl PlannedTask {
    /// The seconds between two operations of the task, over all its clients, if that is always the same.
    #[must_use]
    pub fn even_interval_s(&self) -> Option<f64> {
        match self.pacing {
            TaskPacing::Deterministic { interval_s } if self.documents_per_operation.is_none() => {
                Some(interval_s)
            }
            _ => None,
        }
    }

    /// The seconds that a document of the task takes at its rate, over all its clients, if its schedule follows from
    /// documents and is not random.
    #[must_use]
    pub fn document_interval_s(&self) -> Option<f64> {
        match self.pacing {
            TaskPacing::Deterministic { interval_s } => {
                self.documents_per_operation.map(|documents| interval_s / documents)
            }
            _ => None,
        }
    }
}

/// When the operations of a task are due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskPacing {
    /// Each client sends its next operation as soon as the previous one has ended.
    Unpaced {},
    /// Without a ramp-up, operation k of the task (over all clients) is due `k * interval_s` after the start of the
    /// task.
    Deterministic {
        /// Seconds between two operations of the task, over all its clients.
        interval_s: f64,
    },
    /// Each client's operations arrive as a Poisson process; together, they have the given mean interval.
    Poisson {
        /// Mean seconds between two operations of the task, over all its clients.
        interval_s: f64,
    },
    /// Each client's operations are due at a random moment of each of its intervals.
    Uniform {
        /// Mean seconds between two operations of the task, over all its clients.
        interval_s: f64,
    },
    /// A scheduler written in Python determines when each client's next operation is due.
    #[serde(rename = "scheduled")]
    PythonScheduler {},
}

/// When a task ends. An exhausted source ends it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskBound {
    /// The task ends after a number of operations per client; the warm-up comes first.
    Iterations {
        /// Operations per client that are not measured.
        warmup: u64,
        /// Operations per client that are measured.
        measured: u64,
    },
    /// The task ends after a time; the warm-up comes first.
    #[serde(rename = "time")]
    TimePeriod {
        /// Number of seconds from the start of the task that are not measured.
        warmup_s: f64,
        /// Number of seconds that are measured; `null` to continue until the source is exhausted or another task
        /// completes the step.
        measured_s: Option<f64>,
    },
}
