//! Statistics of measured values: pure functions of numbers, without clocks, files, threads or async.
//!
//! The collector calls this crate when a task has ended. Recording, storing and comparing races is done elsewhere.
//!
//! | file | contains |
//! | --- | --- |
//! | `steady.rs` | [`Steadiness`]: whether a task was steady, determined from its per-second values |
//! | `segments.rs` | the levels, or the straight line, that explain a series best |
//! | `noise.rs` | the noise of a series whose values are not independent; outliers |
//! | `quantile.rs` | the rank of a quantile, its 95 % interval, and whether enough samples support it |

mod noise;
mod quantile;
mod segments;
mod steady;

pub use quantile::{RankInterval, is_supported, median, rank, rank_interval};
pub use steady::{LevelChange, Steadiness, SteadinessMetric, SteadyState, TaskSecond};
