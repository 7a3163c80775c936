//! The collector's thread: merges recordings, writes the race folder, hands over results and progress; looks at the
//! clocks and the machine meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use pacenote_plan::{Plan, SampleRetention, TaskBound, TaskPacing, TaskWork};
use pacenote_record::{Collector, Delivery, Keep, RecordError, Spare, TaskEnd, TaskInfo, on_disk};

use crate::health::clocks::{ClockHealth, ClockWatch, Reading};
use crate::health::host::{CpuTicks, MachineUse};
use crate::operation::bulk::planned_bulks;
use crate::schedule::limiter::ns;
use crate::shared::{Event, Shared};

/// How often progress is renewed.
const RENEW: Duration = Duration::from_millis(200);

/// What the thread can say at the end.
#[derive(Debug)]
pub struct Collected {
    /// Samples on disk.
    pub samples: u64,
    /// What does not add up, one sentence each.
    pub contradictions: Vec<String>,
    /// The clocks during the race.
    pub clock: ClockHealth,
    /// The machine during the race.
    pub machine: Option<MachineUse>,
    /// Why the race folder could not be written.
    pub failure: Option<RecordError>,
}

/// Collects until every recorder is gone. When the race folder cannot be written the race is aborted, and what follows is
/// summed up but not written.
pub fn collect(
    mut collector: Collector,
    inbox: &Receiver<Delivery>,
    spare: &Spare,
    shared: &Arc<Shared>,
) -> Collected {
    let (mut clocks, ticks) = (ClockWatch::start(), CpuTicks::read());
    let mut renewed = Instant::now();
    let mut failure = None;
    loop {
        match inbox.recv_timeout(RENEW) {
            Ok(delivery) => {
                let ended = collector.receive(delivery, spare).unwrap_or_else(|error| {
                    // The race cannot go on, but what its tasks came to is still known.
                    shared.abort(error.to_string());
                    collector.stop_writing();
                    failure.get_or_insert(error);
                    None
                });
                if let Some(end) = ended {
                    tell(end, shared);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if renewed.elapsed() >= RENEW {
            renewed = Instant::now();
            clocks.note(Reading::take());
            shared.progress().tasks = collector.progress(shared.elapsed_ns(renewed));
        }
    }
    let mut orphans = 0;
    while let Some(orphan) = collector.finish_orphan() {
        orphans += 1;
        tell(orphan, shared);
    }
    shared.progress().tasks.clear();
    let (mut contradictions, kept) = (collector.contradictions().to_vec(), collector.kept());
    let closed = collector.close().map_err(|error| failure.get_or_insert(error));
    let samples = closed.unwrap_or_default();
    // What a thread had in hand when it died is lost, and the race says that it did.
    if failure.is_none() && orphans == 0 {
        contradictions.extend(on_disk(kept, samples));
    }
    let machine = CpuTicks::read().zip(ticks).and_then(|(now, then)| now.since(then));
    Collected { samples, contradictions, clock: clocks.end(), machine, failure }
}

/// Tells the caller of a task that has ended.
fn tell(end: TaskEnd, shared: &Shared) {
    shared.progress().tasks.retain(|running| running.task != end.result.task);
    shared.publish(Event::TaskFinished(Box::new(end.result)));
}

/// The plan's word for the samples that are kept, as the recorders know it.
pub fn keep(samples: SampleRetention) -> Keep {
    match samples {
        SampleRetention::All => Keep::All,
        SampleRetention::None => Keep::None,
        SampleRetention::Auto => Keep::Auto,
    }
}

/// What the collector has to know of the plan's tasks.
pub fn task_infos(plan: &Plan) -> Vec<TaskInfo> {
    let info = |task: &pacenote_plan::PlannedTask| {
        let clients = u64::from(task.clients);
        let (warmup_ns, end_ns, counted) = match task.bound {
            TaskBound::Iterations { warmup, measured } => {
                (None, None, Some(warmup.saturating_add(measured).saturating_mul(clients)))
            }
            TaskBound::TimePeriod { warmup_s, measured_s } => {
                (Some(ns(warmup_s)), measured_s.map(|measured_s| ns(warmup_s + measured_s)), None)
            }
        };
        let operations = counted.or_else(|| match &task.work {
            TaskWork::Bulk(bulk) if end_ns.is_none() => planned_bulks(task, bulk),
            _ => None,
        });
        TaskInfo {
            task: task.name.clone(),
            operation: task.operation.clone(),
            operation_type: task.operation_type.clone(),
            unit: task.unit.clone(),
            clients: task.clients,
            paced: !matches!(task.pace, TaskPacing::Unpaced {}),
            open_loop: task.open_loop,
            warmup_ns,
            end_ns,
            interval_ns: match task.pace {
                TaskPacing::Deterministic { interval_s } => Some(ns(interval_s)),
                _ => None,
            },
            operations,
        }
    };
    plan.tasks.iter().map(info).collect()
}
