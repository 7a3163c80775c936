//! Races against a server with a script whose right answer is known on paper.
//!
//! What is asserted was worked out beforehand or is the server's own log: counts, clocks that both sides read, bounds
//! that hold because the server lets nothing out earlier. Nothing depends on how fast the machine is. The numbers in
//! brackets are those of the findings in `docs/migrating.md`.
//!
//! | file | holds |
//! | --- | --- |
//! | `stalls.rs` | an engine that stands still: latency, lateness, service time |
//! | `rates.rs` | throughput and schedules |
//! | `failures.rs` | what is a failure, and what it must not improve |
//! | `wire.rs` | what is on the wire is what is recorded |
//! | `accounts.rs` | no operation is lost, whatever becomes of connections and races |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are small"
)]

#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod failures;
mod rates;
mod stalls;
mod wire;

use serde_json::{Value, json};
use support::request_task;

/// A millisecond in nanoseconds.
const MS: i64 = 1_000_000;

/// A task of so many operations a second, over so many clients and so many seconds: warm-up, measured.
fn paced(name: &str, clients: u32, rate: f64, seconds: (f64, f64)) -> Value {
    let mut task = request_task(name, clients, 1);
    task["pace"] = json!({"kind": "deterministic", "interval_s": 1.0 / rate});
    task["bound"] = json!({"kind": "time", "warmup_s": seconds.0, "measured_s": seconds.1});
    task
}

/// A task of so many operations a second, over so many clients, each of which has so many to send.
fn counted(name: &str, clients: u32, rate: f64, each: u64) -> Value {
    let mut task = paced(name, clients, rate, (0.0, 1.0));
    task["bound"] = json!({"kind": "iterations", "warmup": 0, "measured": each});
    task
}

/// The value at the p-th percentile, as the definition has it: rank ⌈p·n⌉.
fn percentile(values: impl Iterator<Item = i64>, percent: usize) -> i64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100) - 1]
}
