//! The clusters to which runners can send requests.

use std::sync::Arc;
use std::time::Duration;

use pacenote_plan::{Plan, Target};

use crate::error::DriveError;
use crate::transport::Endpoints;
use crate::transport::pool::{ClientPlace, ConnectionPool};

/// The cluster under test and the other clusters of a plan.
#[derive(Debug)]
pub struct Clusters {
    plan: Arc<Plan>,
    /// The cluster under test, then the others in the order of the plan.
    endpoints: Vec<Endpoints>,
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

    /// Returns whether a cluster has more than one host.
    pub fn have_several_hosts(&self) -> bool {
        self.endpoints.iter().any(|hosts| hosts.len() > 1)
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

    /// Creates the connection pool of a client of the race for a cluster. Does not open a connection.
    pub fn connections(&self, race_client: u32, cluster: usize) -> ConnectionPool {
        // One thread sends the requests of all runners.
        ConnectionPool::for_client(&self.endpoints[cluster], ClientPlace { race_client, threads: 1 })
    }

    /// Returns the timeout of requests to the cluster under test.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.plan.target.timeout_ms)
    }
}
