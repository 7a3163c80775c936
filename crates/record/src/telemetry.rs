//! Values of engine and hosts that are sampled while a race runs, in series.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the values of a series mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesKind {
    /// Each value is that of one instant.
    Gauge,
    /// The values grow while their source runs; only their differences have a meaning.
    Counter,
}

impl SeriesKind {
    /// Returns the name of the kind in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }

    /// Returns the kind with a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Gauge, Self::Counter].into_iter().find(|kind| kind.name() == name)
    }
}

/// A value that is sampled over time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TelemetrySeries {
    /// What reads it: the name of a telemetry device, or `host`.
    pub source: String,
    /// Name of the value.
    pub name: String,
    /// Unit of the value; empty if it has none.
    pub unit: String,
    /// What the values mean.
    pub kind: SeriesKind,
    /// What the value belongs to, such as a node or a device.
    pub labels: BTreeMap<String, String>,
}

/// The number of a series in its file, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeriesNumber(pub u32);

/// When a task ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWindow {
    /// Name of the task.
    pub task: String,
    /// Its beginning, in nanoseconds since 1970.
    pub begin_ns: i64,
    /// Its end, in nanoseconds since 1970.
    pub end_ns: i64,
}

impl TaskWindow {
    /// Returns whether the task ran at this time.
    #[must_use]
    pub fn contains(&self, time_ns: i64) -> bool {
        (self.begin_ns..=self.end_ns).contains(&time_ns)
    }
}

/// A value of a series at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// When it was read, in nanoseconds since 1970.
    pub time_ns: i64,
    /// The value, or `None` if it could not be read: a gap.
    pub value: Option<f64>,
}

/// A series with its values.
#[derive(Debug)]
pub struct SeriesPoints {
    /// The series.
    pub series: TelemetrySeries,
    /// Its values, in the order of time.
    pub points: Vec<Point>,
}
