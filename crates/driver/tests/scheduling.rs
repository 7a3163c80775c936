//! How the kernel schedules the driver's threads during a race. The tests are in a program of their own, because they
//! find the threads of a race by their names in the process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::print_stderr, reason = "a test says that it was skipped")]

#[path = "suite/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "these tests use a small part of it")]
mod support;

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pacenote_driver::{Race, ResponseMemory, Scheduling, SchedulingSummary, realtime_refusal};
use pacenote_plan::{DriverScheduling, Plan};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use serde_json::{Value, json};
use support::{Server, plan, request_task, run, run_with, success_response};

const SCHED_OTHER: u32 = 0;
const SCHED_FIFO: u32 = 1;

/// Number of workers of the plans of [`scheduled_plan`].
const WORKERS: usize = 3;

/// Names of the threads of such a race, as far as the kernel keeps them with the prefix.
const NAMES: [&str; WORKERS + 3] = ["collec", "contro", "drive-", "drive-", "drive-", "health"];

/// Held while a race runs, because its threads are found by their names.
static RUNNING: Mutex<()> = Mutex::new(());

/// The name of a thread, its real-time priority and its policy.
type NamedPolicy = (String, u32, u32);

fn slow_server() -> Server {
    Server::start(|_, _| {
        thread::sleep(Duration::from_millis(2));
        Some(success_response())
    })
}

fn scheduled_plan(port: u16, scheduling: &str) -> Value {
    let mut plan = plan(port, &[request_task("search", 3, 300)]);
    plan["driver"]["threads"] = WORKERS.into();
    plan["driver"]["scheduling"] = scheduling.into();
    plan
}

/// Returns the policies of the driver's threads, sorted by their names.
fn policies() -> Vec<NamedPolicy> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lines = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let of_line = |line: String| {
        let (head, tail) = line.rsplit_once(')').unwrap();
        let name = head.split_once('(').unwrap().1.strip_prefix("pacenote-")?.to_owned();
        let mut fields = tail.split_ascii_whitespace().skip(37).map(|field| field.parse().unwrap());
        NAMES.contains(&name.as_str()).then(|| (name, fields.next().unwrap(), fields.next().unwrap()))
    };
    let mut policies: Vec<_> = lines.filter_map(of_line).collect();
    policies.sort();
    policies
}

/// Runs a race with this scheduling and returns the policies of its threads meanwhile.
fn race_with(scheduling: &str) -> (Vec<NamedPolicy>, SchedulingSummary) {
    let server = slow_server();
    let mut seen = Vec::new();
    let race = run_with(&scheduled_plan(server.port, scheduling), |_| {
        let began = Instant::now();
        while seen.len() < NAMES.len() && began.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(20));
            seen = policies();
        }
    });
    assert_eq!(seen.iter().map(|(name, ..)| name).collect::<Vec<_>>(), NAMES);
    (seen, race.summary.scheduling.unwrap())
}

fn are_normal(policies: &[NamedPolicy]) -> bool {
    policies.iter().all(|(_, priority, policy)| (*priority, *policy) == (0, SCHED_OTHER))
}

/// Runs the body on a thread without the permission for real-time priority, like all threads that it starts.
fn without_permission<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::SYS_NICE);
            set_capabilities(None, sets).unwrap();
            body()
        });
        thread.join().unwrap()
    })
}

/// Returns whether threads can have real-time priority, and prints why what needs it is not tested.
fn is_realtime_permitted() -> bool {
    let refusal = realtime_refusal();
    if let Some(reason) = &refusal {
        eprintln!("real-time priority cannot be tested: {reason}");
    }
    refusal.is_none()
}

#[test]
fn only_workers_and_the_health_thread_get_another_scheduling() {
    let _alone = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_realtime_permitted() {
        let (seen, summary) = race_with("auto");
        let expected = |name: &str| match name {
            "health" => (2, SCHED_FIFO),
            "drive-" => (1, SCHED_FIFO),
            _ => (0, SCHED_OTHER),
        };
        assert!(
            seen.iter().all(|(name, priority, policy)| expected(name) == (*priority, *policy)),
            "{seen:?}"
        );
        assert_eq!(summary.asked, DriverScheduling::Auto);
        assert_eq!(
            (summary.workers, summary.health),
            (Some(Scheduling::Realtime), Some(Scheduling::Realtime))
        );
        assert_eq!((summary.refused, summary.demotions), (None, 0));
    }
    let (seen, summary) = race_with("normal");
    assert!(are_normal(&seen), "{seen:?}");
    assert_eq!((summary.workers, summary.health), (Some(Scheduling::Normal), Some(Scheduling::Normal)));
    let (seen, summary) = without_permission(|| race_with("auto"));
    assert!(are_normal(&seen), "{seen:?}");
    // A kernel before 6.12 has no slices.
    assert_ne!(summary.workers, Some(Scheduling::Realtime));
    let reason = summary.refused.unwrap();
    assert!(reason.starts_with("it needs CAP_SYS_NICE, or RLIMIT_RTPRIO of 2 or more (it is "), "{reason}");
}

#[test]
fn a_race_that_demands_real_time_priority_does_not_begin_without_permission() {
    let server = slow_server();
    let plan = Plan::from_json(&scheduled_plan(server.port, "realtime").to_string()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let error =
        without_permission(|| Race::start(plan, folder.path(), ResponseMemory::of_process()).unwrap_err());
    assert!(
        error
            .to_string()
            .starts_with("the driver's threads cannot have real-time priority: it needs CAP_SYS_NICE"),
        "{error}"
    );
}

#[test]
fn spin_waits_count_as_cpu_time() {
    if !is_realtime_permitted() {
        return;
    }
    let _alone = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(|_, _| Some(success_response()));
    let mut task = request_task("search", 1, 3);
    task["pacing"] = json!({"kind": "deterministic", "interval_s": 0.4});
    let mut plan = plan(server.port, &[task]);
    plan["driver"]["spin_us"] = 1_000_000.into();
    plan["driver"]["scheduling"] = "realtime".into();
    let summary = run(&plan).summary.scheduling.unwrap();
    assert_eq!((summary.workers, summary.demotions), (Some(Scheduling::Realtime), 1), "{summary:?}");
    assert!(summary.demoted_s > 0.05 && summary.demoted_s < 0.5, "{summary:?}");
}

#[test]
fn the_tasks_during_which_a_worker_lost_its_priority_are_known() {
    if !is_realtime_permitted() {
        return;
    }
    let _alone = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(|_, _| Some(success_response()));
    // The second task spins while it waits, the others end at once.
    let [before, mut long, after] = ["before", "long", "after"].map(|name| request_task(name, 1, 3));
    long["pacing"] = json!({"kind": "deterministic", "interval_s": 0.4});
    let mut plan = plan(server.port, &[before, long, after]);
    plan["driver"]["spin_us"] = 1_000_000.into();
    plan["driver"]["scheduling"] = "realtime".into();
    let driver = run(&plan).summary;
    let tasks: Vec<_> = driver.core_times.iter().map(|times| &times.tasks[..]).collect();
    assert_eq!(tasks, [[0], [1], [2]]);
    // The time for which it spins is CPU time of this step.
    assert!(driver.core_times[1].worked_s > driver.core_times[0].worked_s, "{:?}", driver.core_times);
    let summary = driver.scheduling.unwrap();
    let [demoted] = &summary.tasks[..] else { panic!("{summary:?}") };
    assert_eq!((demoted.index, demoted.workers, demoted.unreadable), (1, 1, 0), "{summary:?}");
    assert!(demoted.share > 0.0 && demoted.share < 1.0, "{summary:?}");
    assert!(demoted.demoted_s <= summary.demoted_s && summary.unreadable == 0, "{summary:?}");
}
