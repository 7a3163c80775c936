//! Races against a scripted server whose correct results are known beforehand.
//!
//! Expected values are computed from the script or read from the server's log: counts, times on a clock that both sides
//! read, and bounds that hold because the server never responds early. No assertion depends on the speed of the
//! machine. The tests in `src/worker/paused_tests` check the schedule to the nanosecond on a paused clock; these tests
//! use real sockets. Numbers in brackets refer to the findings in `docs/migrating.md`.
//!
//! | file | contains |
//! | --- | --- |
//! | `stalls.rs` | an engine that stalls: latency, lateness, service time |
//! | `rates.rs` | throughput and schedules |
//! | `threads.rs` | one open-loop schedule for all driver threads |
//! | `warmup.rs` | an engine that is slow at first: operations that wait for the warm-up |
//! | `failures.rs` | what counts as a failure, and that failures do not improve figures |
//! | `wire.rs` | every request is recorded, with its bytes |
//! | `accounts.rs` | no operation is lost when connections break or races end |
#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are small"
)]

mod accounts;
mod failures;
mod rates;
mod stalls;
mod threads;
mod warmup;
mod wire;

use serde_json::{Value, json};

use crate::support::request_task;

/// A millisecond, in nanoseconds.
const MS: i64 = 1_000_000;

/// Builds a task of `rate` operations per second over `clients` clients; `seconds` contains the durations of warm-up
/// and measurement.
fn paced(name: &str, clients: u32, rate: f64, seconds: (f64, f64)) -> Value {
    let mut task = request_task(name, clients, 1);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 1.0 / rate});
    task["bound"] = json!({"kind": "time", "warmup_s": seconds.0, "measured_s": seconds.1});
    task
}

/// Builds a task of `rate` operations per second over `clients` clients that send `each` operations each.
fn counted(name: &str, clients: u32, rate: f64, each: u64) -> Value {
    let mut task = paced(name, clients, rate, (0.0, 1.0));
    task["bound"] = json!({"kind": "iterations", "warmup": 0, "measured": each});
    task
}

/// Computes a percentile by its definition: the value at rank ⌈p·n⌉, where p = `percent` / 100.
fn percentile(values: impl Iterator<Item = i64>, percent: usize) -> i64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100) - 1]
}
