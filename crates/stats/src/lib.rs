//! Statistics of measured values: pure functions of numbers, without clocks, files, threads or async code.
//!
//! The collector calls this crate when a task has ended. Other crates and packages record, store and compare races.
//!
//! | file | contains |
//! | --- | --- |
//! | `steady.rs` | [`Steadiness`]: whether a task was steady, determined from its per-second values |
//! | `segments.rs` | the levels, or the straight line, that fit a series best |
//! | `noise.rs` | the noise of a series whose values are not independent, and its outliers |
//! | `dependence.rs` | how few independent operations those of a task are worth |
//! | `quantile.rs` | the rank of a quantile, its 95 % interval, and whether there are enough samples for one |

mod dependence;
mod noise;
mod quantile;
mod segments;
mod steady;

pub use dependence::{StretchCount, design_effect};
pub use quantile::{RankInterval, dependent_rank_interval, is_supported, median, rank, rank_interval};
pub use steady::{LevelChange, Steadiness, SteadinessMetric, SteadyState, TaskSecond};
