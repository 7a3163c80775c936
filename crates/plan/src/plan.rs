//! The race as a whole, and its tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::step::Step;
use crate::work::Work;

/// The version of the document this crate reads and writes.
pub const VERSION: u32 = 3;

/// Everything the driver needs to run a race; see the crate documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Always [`VERSION`].
    pub version: u32,
    /// Identifies the race; used in file names and messages only.
    pub race_id: String,
    /// Fixes every random choice the driver makes: phases, arrivals, conflicts.
    pub seed: u64,
    /// Where requests go.
    pub target: Target,
    /// Clusters beside it, for runners that talk to several at once.
    pub others: Vec<NamedTarget>,
    /// How the driver behaves.
    pub driver: DriverSettings,
    /// Every task of the race, once; steps refer to them by position.
    pub tasks: Vec<Task>,
    /// The schedule: steps run one after another, each ends in a join point of all clients.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Reads a plan and checks every rule that the types do not express.
    ///
    /// # Errors
    ///
    /// [`PlanError`] when the text is no plan of this version or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text)?;
        plan.validate()?;
        Ok(plan)
    }

    /// How many clients the widest step needs.
    #[must_use]
    pub fn clients(&self) -> u32 {
        self.steps
            .iter()
            .flat_map(|step| &step.slots)
            .map(|slot| slot.client.saturating_add(1))
            .max()
            .unwrap_or(0)
    }
}

/// The cluster under test.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Clients are spread over these round-robin; never empty.
    pub hosts: Vec<Host>,
    /// Sent with every request, for example `authorization`; values may be secret and are never printed.
    pub headers: Vec<(String, String)>,
    /// How long a request may take when it does not say so itself, in milliseconds.
    pub timeout_ms: u64,
    /// Bodies are sent compressed with gzip, and compressed replies are asked for.
    pub compress: bool,
    /// How hosts that are talked to over TLS are trusted, and what they are shown.
    pub tls: Tls,
}

impl fmt::Debug for Target {
    /// Names headers without their values, which may be secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut target = out.debug_struct("Target");
        target.field("hosts", &self.hosts).field("headers", &headers).field("timeout_ms", &self.timeout_ms);
        target.field("compress", &self.compress).field("tls", &self.tls).finish()
    }
}

/// Trust in the hosts of a cluster. Files are PEM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificates of the authorities to trust; `null`: those the system trusts.
    pub ca_file: Option<String>,
    /// The client's certificate, with those that lead to its authority.
    pub client_cert: Option<String>,
    /// The key of the client's certificate; `null`: it is in the same file.
    pub client_key: Option<String>,
    /// Whether the host's certificate must lead to a trusted authority.
    pub verify: bool,
    /// Whether it must be made out to the name that is connected to.
    pub verify_host: bool,
    /// The name to ask for and to verify (SNI); `null`: the host's.
    pub server_name: Option<String>,
}

/// A cluster beside the one under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTarget {
    /// As `--target-hosts` names it; never `default`.
    pub name: String,
    /// Where it is.
    pub target: Target,
}

/// One address of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Plain or encrypted.
    pub scheme: Scheme,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Prefix of every path, empty or starting with `/`, never ending with it.
    pub path: String,
    /// What stands between; `null`: nothing.
    pub proxy: Option<Proxy>,
}

/// An HTTP proxy: plain requests are handed to it whole, TLS goes through a tunnel.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// How to talk to the proxy itself.
    pub scheme: Scheme,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Value of `proxy-authorization`; secret, never printed.
    pub authorization: Option<String>,
}

impl fmt::Debug for Proxy {
    /// Leaves out the secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Proxy({:?} {}:{})", self.scheme, self.host, self.port)
    }
}

/// How to talk to a host.
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
    /// OS threads that send requests; 0 means one per core, never more than clients.
    pub threads: u32,
    /// What a failed request does to the race.
    pub on_error: OnError,
    /// How long before an operation is due its client stops sleeping and watches the clock, in microseconds; 0: never.
    pub spin_us: u32,
    /// Which samples are kept one by one.
    pub samples: Samples,
}

/// Which samples are kept one by one; per-second series and totals are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Samples {
    /// Every one.
    All,
    /// None.
    None,
    /// Those of tasks whose rate and number stay small enough not to matter.
    Auto,
}

/// What a failed request does to the race (Rally's `--on-error`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// Failures are counted; a refused connection ends the race.
    Continue,
    /// Failures are counted, refused connections too.
    ContinueOnNetwork,
    /// The first failure ends the race, unless its task tolerates errors.
    Abort,
}

/// One task: an operation, by how many clients, how long and how fast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Unique within the plan.
    pub name: String,
    /// Name of the operation; several tasks may share it.
    pub operation: String,
    /// The operation's type, such as `bulk`.
    pub operation_type: String,
    /// How many clients run the task; at least 1.
    pub clients: u32,
    /// When operations are due.
    pub pace: Pace,
    /// Open loop: whichever client is free takes the operation that is due next, so that a slow one holds back no other;
    /// the clients are then the most connections that may be in use. Closed loop: every client has a schedule of its own.
    pub open_loop: bool,
    /// When the task ends.
    pub bound: Bound,
    /// Client i of n starts `ramp_up_s * i / n` seconds after the first.
    pub ramp_up_s: f64,
    /// Unit of the work done, for example `docs` or `ops`.
    pub unit: String,
    /// With [`OnError::Abort`], failures of this task do not end the race.
    pub tolerates_errors: bool,
    /// What one operation does.
    pub work: Work,
}

/// When operations of a task are due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pace {
    /// Closed loop: each client sends as soon as its previous operation has ended.
    Unpaced {},
    /// Operation k of the task (over all clients) is due `k * interval_s` after the task began.
    Deterministic {
        /// Seconds between two operations of the task, over all its clients.
        interval_s: f64,
    },
    /// Each client's operations arrive as a Poisson process; together they have the given mean interval.
    Poisson {
        /// Mean seconds between two operations of the task, over all its clients.
        interval_s: f64,
    },
    /// Each client's operations are due at a random moment of each of its intervals.
    Uniform {
        /// Mean seconds between two operations of the task, over all its clients.
        interval_s: f64,
    },
    /// A scheduler written in Python says when each client's next operation is due.
    Scheduled {},
}

/// When a task ends. A source that is exhausted ends it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Bound {
    /// After a number of operations per client, warm-up first.
    Iterations {
        /// Operations per client that are not measured.
        warmup: u64,
        /// Operations per client that are measured.
        measured: u64,
    },
    /// After a time, warm-up first.
    Time {
        /// Seconds from the task's beginning that are not measured.
        warmup_s: f64,
        /// Seconds that are measured; `null`: until the source is exhausted or the step is completed by another task.
        measured_s: Option<f64>,
    },
}
