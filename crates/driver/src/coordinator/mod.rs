//! The coordinator: the thread that moves the workers from step to step and summarizes the race at the end.
//!
//! It starts and joins the worker pool, the collector and the health thread, each of which has its own file. No code of
//! this module sends a request or runs while an operation is measured. Only `race.rs` may use it.
//!
//! | state | until | then |
//! | --- | --- | --- |
//! | preparing | every worker is ready, with clients connected and sources created, and Python is ready if a task needs it | running; an error ends the race |
//! | running | every worker is done: its last client has ended | preparing the next step |
//! | stopping | the race was stopped or aborted: workers end the current step early | no further step |

pub mod collector_thread;
mod health_thread;
pub mod pool;
mod read_ahead_thread;
pub mod threads;

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use pacenote_plan::Plan;
use pacenote_record::{Collector, Delivery};

use crate::coordinator::collector_thread::{CollectorSummary, collect};
use crate::coordinator::health_thread::HealthThread;
use crate::coordinator::pool::{PoolSummary, WorkerPool};
use crate::coordinator::read_ahead_thread::ReadAheadThread;
use crate::coordinator::threads::{join, spawn};
use crate::error::DriveError;
use crate::health::cpu::{PeakLoad, process_cpu_ns};
use crate::operation::data_files::DataFiles;
use crate::race_state::{RaceState, StopLevel};
use crate::step_state::StepState;
use crate::summary::{HostSummary, LostTaskSamples, RaceSummary, ThreadSummary};
use crate::transport::Endpoints;
use crate::worker::thread::{WorkerCommand, WorkerContext};

/// Runs the steps of a race. Its states are described in the module documentation.
#[derive(Debug)]
pub struct Coordinator {
    /// The workers, and the thread of the bridge.
    pub pool: WorkerPool,
    /// The state it shares with the workers.
    pub context: WorkerContext,
    /// The endpoints of all clusters, those of the cluster under test first.
    pub clusters: Vec<Endpoints>,
}

impl Coordinator {
    /// Runs all steps of the plan, then ends all threads and returns the summary. `collector` receives the `deliveries`
    /// of the recorders.
    pub fn run(self, collector: Collector, deliveries: Receiver<Delivery>) -> RaceSummary {
        let (started, cpu_before_ns) = (Instant::now(), process_cpu_ns());
        let (race_state, clusters) = (Arc::clone(&self.context.race_state), self.clusters.clone());
        let (shared, buffers) = (Arc::clone(&race_state), self.context.record_sender.buffers().clone());
        let collecting = spawn("collect", move || {
            let started = Instant::now();
            let summary = collect(collector, &deliveries, &buffers, &shared);
            (summary, ThreadSummary::of_current_thread("collect", started, PeakLoad::default()))
        });
        let health = HealthThread::start(Arc::clone(&race_state));
        let (mut last_step, can_run) = (None, collecting.is_ok() && health.is_ok());
        let mut error = if can_run { self.run_steps(&mut last_step).err() } else { None };
        error = error.or_else(|| race_state.driver_error().map(DriveError::Python));
        let stopped = race_state.stop_level() != StopLevel::Run && race_state.abort_reason().is_none();
        if let Some(error) = &error {
            race_state.abort(error.to_string());
            race_state.stop(StopLevel::Abandon);
        }
        let (plan, bridge) = (Arc::clone(&self.context.plan), self.context.bridge.clone());
        let PoolSummary { mut threads, first_error } = self.shutdown(last_step);
        // Files that take long to complete are not a gap in a measurement.
        let health = health.and_then(HealthThread::end);
        if matches!(error, None | Some(DriveError::ThreadDied(_))) {
            // A thread that panicked could not reply, so its panic is reported instead of the missing reply.
            error = first_error.or(error);
        }
        let mut collected = CollectorSummary::default();
        match collecting.and_then(join) {
            Ok((summary, thread)) => {
                threads.push(thread);
                collected = summary;
                error = error.or_else(|| collected.failure.take().map(DriveError::from));
            }
            Err(failed) => drop(error.get_or_insert(failed)),
        }
        let health = health.map_err(|failed| error.get_or_insert(failed)).ok();
        threads.extend(health.as_ref().map(|health| health.thread.clone()));
        threads.push(ThreadSummary::of_current_thread("control", started, PeakLoad::default()));
        RaceSummary {
            threads,
            process_cpu_s: process_cpu_ns().saturating_sub(cpu_before_ns) as f64 / 1e9,
            machine: health.as_ref().and_then(|health| health.host.machine),
            cpus: health.as_ref().and_then(|health| health.host.driver.clone()),
            throttling: health.as_ref().and_then(|health| health.throttling.clone()),
            core_times: race_state.core_waits.step_times(&plan),
            late_joins: race_state.late_joins.of_tasks(),
            scheduling: Some(race_state.scheduling.summary()),
            clock: health.map(|health| health.clock).unwrap_or_default(),
            hosts: host_summaries(&plan, &clusters),
            outside_requests: bridge.map(|bridge| bridge.outside_requests()).unwrap_or_default(),
            contradictions: collected.contradictions,
            samples: collected.sample_count,
            lost_samples: LostTaskSamples::of_all(&collected.lost_samples),
            started_unix_ns: race_state.started_unix_ns(),
            wall_s: race_state.race_time_ns(Instant::now()) as f64 / 1e9,
            stopped,
            aborted: race_state.abort_reason(),
            error: error.map(|error| error.to_string()),
        }
    }

    /// Ends all threads except the collector, which ends when the last sender of recordings is dropped, at the end of
    /// this function. After an error, the clients of the last step have run until then.
    fn shutdown(self, last_step: Option<Arc<StepState>>) -> PoolSummary {
        if let Some(bridge) = &self.context.bridge {
            bridge.shutdown();
        }
        let summary = self.pool.shutdown();
        if let Some(step) = last_step {
            begin_drained_windows(&step, &self.context.race_state);
        }
        summary
    }

    /// Runs the steps. `last_step` becomes each of them in turn, so that it is the one that an error ended.
    fn run_steps(&self, last_step: &mut Option<Arc<StepState>>) -> Result<(), DriveError> {
        let WorkerContext { plan, race_state, .. } = &self.context;
        for index in 0..plan.steps.len() {
            if race_state.stop_level() != StopLevel::Run {
                break;
            }
            let step = last_step.insert(Arc::new(StepState::new(plan, index, race_state)));
            self.run_step(step)?;
            begin_drained_windows(step, race_state);
            race_state.progress().completed_steps = index + 1;
        }
        Ok(())
    }

    fn run_step(&self, step: &Arc<StepState>) -> Result<(), DriveError> {
        let WorkerContext { race_state, bridge, record_sender, .. } = &self.context;
        let mut files = DataFiles::default();
        for task_state in step.tasks() {
            files.open(&step.plan().tasks[task_state.task_index as usize])?;
        }
        let files = Arc::new(files);
        let bridge = bridge.as_ref().filter(|bridge| bridge.open_step(step));
        self.pool
            .broadcast(|| WorkerCommand::Prepare { step: Arc::clone(step), files: Arc::clone(&files) })?;
        self.pool.wait_all(race_state)?;
        if let Some(bridge) = bridge
            && !bridge.wait_until_prepared(race_state)?
        {
            return Ok(());
        }
        let read_ahead = ReadAheadThread::start(&files)?;
        let now = Instant::now();
        race_state.start_clock(now);
        let step_began_ns = race_state.race_time_ns(now);
        for task_state in step.tasks() {
            let task_index = task_state.task_index;
            let worker_count = self.pool.worker_count_of(step, task_index);
            let queue_count = task_state.queue_count(&step.plan().tasks[task_index as usize]);
            record_sender.send(Delivery::Begin { task_index, worker_count, queue_count, step_began_ns });
        }
        if let Some(bridge) = bridge {
            bridge.start_step();
        }
        self.pool.broadcast(|| WorkerCommand::Start)?;
        let ended = self.pool.wait_all(race_state);
        drop(read_ahead);
        ended?;
        if let Some(bridge) = bridge {
            bridge.close_step(step);
        }
        Ok(())
    }
}

/// Tells when the measured windows began that waited for the backlog of a warm-up. Must be called when the clients of the
/// step have ended.
fn begin_drained_windows(step: &StepState, race_state: &RaceState) {
    for task_state in step.tasks() {
        if let Some(drain) = task_state.warmup_backlog.drain() {
            race_state.late_joins.begin_window(task_state.task_index, drain.window().begin_ns);
        }
    }
}

/// Returns the summaries of all hosts, after all connections have been dropped.
fn host_summaries(plan: &Plan, clusters: &[Endpoints]) -> Vec<HostSummary> {
    let names = std::iter::once("default").chain(plan.others.iter().map(|other| other.name.as_str()));
    let with_name = names.zip(clusters).flat_map(|(name, hosts)| hosts.iter().map(move |host| (name, host)));
    with_name.map(|(name, host)| HostSummary::new(name, host)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use pacenote_plan::Plan;
    use pacenote_record::{EndedBy, RecordSender};
    use serde_json::{Value, json};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::coordinator::threads::run_thread;
    use crate::plan_to_record::{retention_policy, task_infos};
    use crate::race_state::RaceEvent;
    use crate::scheduling::monitor::SchedulingMonitor;
    use crate::transport::{Endpoint, SystemRoots};
    use crate::worker::thread::WorkerReply;

    /// Builds a plan with one client that sleeps briefly in the first step, and three times `long_s` in the second step
    /// unless it is woken by the end of the race.
    fn plan(port: u16, long_s: f64) -> Arc<Plan> {
        Arc::new(Plan::from_json(&plan_json(port, long_s).to_string()).unwrap())
    }

    fn plan_json(port: u16, long_s: f64) -> Value {
        let task = |name: &str, seconds: f64| {
            json!({"name": name, "operation": name, "operation_type": "sleep", "clients": 1,
                "pacing": {"kind": "unpaced"}, "open_loop": false, "ramp_up_s": 0.0, "unit": "ops",
                "bound": {"kind": "iterations", "warmup": 0, "measured": 3}, "tolerates_errors": false, "must_succeed": false,
                "work": {"kind": "sleep", "seconds": seconds}})
        };
        let step = |task: u32| -> Value {
            json!({"name": format!("step {task}"), "completed_by": null,
                "client_allocations": [{"client": 0, "allocations": [{"task": task, "client": 0}]}]})
        };
        let host = json!({"scheme": "http", "host": "127.0.0.1", "port": port, "path": "", "proxy": null});
        let tls = json!({"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
            "verify_host": true, "server_name": null});
        json!({"version": 6, "race_id": "r", "seed": 1, "others": [],
            "target": {"hosts": [host], "headers": [], "timeout_ms": 5000, "compress": false, "tls": tls},
            "driver": {"threads": 2, "on_error": "continue", "samples": "all", "scheduling": "normal"},
            "tasks": [task("short", 0.001), task("long", long_s)], "steps": [step(0), step(1)]})
    }

    /// Runs a worker without clients that panics `after` the second step starts.
    async fn panicking_worker(
        mut commands: UnboundedReceiver<WorkerCommand>,
        replies: Sender<WorkerReply>,
        after: Duration,
    ) -> PeakLoad {
        for step in 0.. {
            let Some(WorkerCommand::Prepare { .. }) = commands.recv().await else { break };
            replies.send(WorkerReply::Ready(Ok(()))).unwrap();
            let Some(WorkerCommand::Start) = commands.recv().await else { break };
            if step == 1 {
                tokio::time::sleep(after).await;
                panic!("a bug in step {step}");
            }
            replies.send(WorkerReply::Done).unwrap();
        }
        PeakLoad::default()
    }

    fn context_of(plan: &Arc<Plan>, worker_count: usize) -> (WorkerContext, Receiver<Delivery>) {
        let (sender, deliveries) = channel();
        let context = WorkerContext {
            endpoints: Endpoint::for_cluster(&plan.target, &mut SystemRoots::default(), &Arc::default())
                .unwrap(),
            bridge: None,
            race_state: Arc::new(RaceState::new(
                worker_count,
                plan.steps.len(),
                SchedulingMonitor::default(),
            )),
            record_sender: RecordSender::new(sender, retention_policy(plan.driver.samples)),
            plan: Arc::clone(plan),
        };
        (context, deliveries)
    }

    #[test]
    fn a_collector_that_is_busy_is_not_a_gap_of_the_driver() {
        let (folder, listener) = (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let plan = plan(listener.local_addr().unwrap().port(), 0.3);
        let (context, deliveries) = context_of(&plan, 1);
        let pool = WorkerPool::spawn_workers(&context, 1).unwrap();
        let collector = Collector::new(folder.path(), task_infos(&plan)).unwrap();
        let race_state = Arc::clone(&context.race_state);
        let busy = spawn("busy", move || {
            std::thread::sleep(Duration::from_millis(50));
            // The collector waits for this lock when it publishes the progress.
            let progress = race_state.progress();
            std::thread::sleep(Duration::from_millis(800));
            drop(progress);
        });
        let clusters = vec![Arc::clone(&context.endpoints)];
        let summary = Coordinator { pool, context, clusters }.run(collector, deliveries);
        join(busy.unwrap()).unwrap();
        assert_eq!(summary.error, None);
        assert!(summary.clock.gaps.iter().all(|gap| gap.length_s < 0.8), "{:?}", summary.clock.gaps);
    }

    #[cfg(target_os = "linux")]
    fn has_health_thread() -> bool {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let mut names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
        names.any(|name| name.trim_end() == "pacenote-health")
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_health_thread_ends_before_the_collector() {
        let (folder, listener) = (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let plan = plan(listener.local_addr().unwrap().port(), 0.001);
        let (context, deliveries) = context_of(&plan, 1);
        let pool = WorkerPool::spawn_workers(&context, 1).unwrap();
        let collector = Collector::new(folder.path(), task_infos(&plan)).unwrap();
        // The collector ends when the last sender is dropped.
        let (sender, race_state) = (context.record_sender.clone(), Arc::clone(&context.race_state));
        let waiting = spawn("waiting", move || {
            let started = Instant::now();
            // Other tests may have such a thread as well, but not for long.
            while race_state.progress().completed_steps < 2 || has_health_thread() {
                if started.elapsed() > Duration::from_secs(10) {
                    return false;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(sender);
            true
        });
        let clusters = vec![Arc::clone(&context.endpoints)];
        let summary = Coordinator { pool, context, clusters }.run(collector, deliveries);
        assert!(join(waiting.unwrap()).unwrap(), "the health thread has waited for the collector");
        let names: Vec<&str> = summary.threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!((summary.error, names), (None, vec!["drive-0", "collect", "health", "control"]));
    }

    /// Runs a plan with two workers, of which the first one runs the clients and the second one panics `after` the start
    /// of the second step.
    fn run_with_panic(plan: &Arc<Plan>, after: Duration) -> (RaceSummary, Arc<RaceState>) {
        let folder = tempfile::tempdir().unwrap();
        let (context, deliveries) = context_of(plan, 2);
        let race_state = Arc::clone(&context.race_state);
        let mut pool = WorkerPool::spawn_workers(&context, 1).unwrap();
        let ((commands, receiver), (reply_sender, replies)) = (unbounded_channel(), channel());
        pool.commands.push(commands);
        let first = std::mem::replace(&mut pool.replies, replies);
        let forward = reply_sender.clone();
        let forwarding = spawn("forward", move || first.iter().for_each(|reply| drop(forward.send(reply))));
        let body = move || run_thread("drive-1", panicking_worker(receiver, reply_sender, after));
        pool.threads.push(spawn("drive-1", body).unwrap());
        let collector = Collector::new(folder.path(), task_infos(plan)).unwrap();
        let clusters = vec![Arc::clone(&context.endpoints)];
        let summary = Coordinator { pool, context, clusters }.run(collector, deliveries);
        join(forwarding.unwrap()).unwrap();
        (summary, race_state)
    }

    #[test]
    fn a_panicking_worker_ends_the_race_whose_results_so_far_are_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plan = plan(listener.local_addr().unwrap().port(), 600.0);
        let (summary, race_state) = run_with_panic(&plan, Duration::ZERO);
        let reason = "a driver thread ended unexpectedly: drive-1 panicked: a bug in step 1";
        assert_eq!((summary.error.as_deref(), summary.stopped), (Some(reason), false));
        let names: Vec<&str> = summary.threads.iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["drive-0", "collect", "health", "control"]);
        let ended: Vec<(String, u64, EndedBy)> = race_state
            .wait_for_events(Duration::ZERO)
            .into_iter()
            .filter_map(|event| match event {
                RaceEvent::TaskFinished(end) => {
                    Some((end.task, end.operation_totals.succeeded, end.ended_by))
                }
                RaceEvent::Finished(_) => None,
            })
            .collect();
        let (short, long) =
            (("short".to_owned(), 3, EndedBy::Iterations), ("long".to_owned(), 0, EndedBy::Aborted));
        assert_eq!(ended, [short, long]);
        assert_eq!((summary.samples, summary.contradictions.len()), (3, 0));
    }

    /// A client is busy in another task for 300 ms, of which 200 ms are the warm-up; the window begins when it has caught
    /// up, and the thread of another worker ends after that.
    #[test]
    fn what_a_client_missed_before_a_window_that_waited_is_not_missing_from_a_race_with_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = plan_json(listener.local_addr().unwrap().port(), 0.3);
        plan["driver"]["warmup_drain"] = true.into();
        plan["tasks"][1]["bound"]["measured"] = 1.into();
        let mut paced = plan["tasks"][0].clone();
        paced["name"] = "paced".into();
        paced["clients"] = 2.into();
        paced["pacing"] = json!({"kind": "deterministic", "interval_s": 0.02});
        paced["bound"] = json!({"kind": "time", "warmup_s": 0.2, "measured_s": 600.0});
        plan["tasks"].as_array_mut().unwrap().push(paced);
        plan["steps"][1]["client_allocations"] = json!([
            {"client": 0, "allocations": [{"task": 2, "client": 0}]},
            {"client": 2, "allocations": [{"task": 1, "client": 0}, {"task": 2, "client": 1}]}]);
        let plan = Arc::new(Plan::from_json(&plan.to_string()).unwrap());
        let (summary, _) = run_with_panic(&plan, Duration::from_millis(900));
        assert!(summary.error.is_some());
        let [joins] = &summary.late_joins[..] else { panic!("one task with a late client: {summary:?}") };
        assert!(joins.latest_s >= 0.29, "{joins:?}");
        assert!(joins.missed_measured_s <= 0.0, "{joins:?}");
    }
}
