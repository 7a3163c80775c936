//! The clusters to which runners can send requests.

use std::sync::Arc;
use std::time::Duration;

use pacenote_plan::{Plan, Target};

use crate::error::DriveError;
use crate::transport::Endpoints;
use crate::transport::pool::{ConnectionPool, HostAssignment};

/// The cluster under test and the other clusters of a plan.
#[derive(Debug)]
pub struct Clusters {
    plan: Arc<Plan>,
    /// The cluster under test, then the others in the order of the plan.
    endpoints: Vec<Endpoints>,
}

/// One host of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterHost {
    /// Position of the cluster; 0 is the one under test.
    pub cluster: usize,
    /// Position of the host in the cluster.
    pub host_index: usize,
}

impl Clusters {
    /// Collects the clusters of a plan; `endpoints` are in the order of their positions.
    pub fn new(plan: &Arc<Plan>, endpoints: &[Endpoints]) -> Self {
        Self { plan: Arc::clone(plan), endpoints: endpoints.to_vec() }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the number of clusters.
    pub fn count(&self) -> usize {
        self.endpoints.len()
    }

    /// Returns the position of the cluster with this name in tracks.
    ///
    /// # Errors
    ///
    /// If the plan has no such cluster.
    pub fn position(&self, name: &str) -> Result<usize, DriveError> {
        match self.plan.others.iter().position(|other| other.name == name) {
            Some(index) => Ok(index + 1),
            None if name == "default" => Ok(0),
            None => Err(DriveError::Python(format!("there is no cluster {name:?}"))),
        }
    }

    /// Returns the settings of a cluster.
    pub fn target(&self, cluster: usize) -> &Target {
        match cluster.checked_sub(1) {
            None => &self.plan.target,
            Some(other) => &self.plan.others[other].target,
        }
    }

    /// Returns the host of a cluster that a client of the race uses.
    pub fn host_of(&self, race_client: u32, cluster: usize) -> ClusterHost {
        let hosts = self.endpoints[cluster].len();
        ClusterHost { cluster, host_index: HostAssignment::new(race_client, hosts).host_index }
    }

    /// Creates the connection pool of a client of the race for its host in a cluster. Does not open a connection.
    pub fn connections(&self, race_client: u32, cluster: usize) -> ConnectionPool {
        ConnectionPool::for_client(&self.endpoints[cluster], race_client)
    }

    /// Returns the timeout of requests to the cluster under test.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.plan.target.timeout_ms)
    }
}
