//! The collector's thread: merges recordings, writes the race folder, hands over results and progress.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use pacenote_plan::{Bound, Pace, Plan, Samples, Work};
use pacenote_record::{Collector, Delivery, Keep, RecordError, Spare, TaskInfo};

use crate::bound::ns;
use crate::shared::{Event, Shared};
use crate::source::planned_bulks;

/// How often progress is renewed.
const RENEW: Duration = Duration::from_millis(200);

/// Collects until every recorder is gone. Returns how many samples were written.
///
/// # Errors
///
/// When the race folder cannot be written; the race is then aborted, and what follows is summed up but not written.
pub fn collect(
    mut collector: Collector,
    inbox: &Receiver<Delivery>,
    spare: &Spare,
    shared: &Arc<Shared>,
) -> Result<u64, RecordError> {
    let mut renewed = Instant::now();
    let mut failed = None;
    loop {
        match inbox.recv_timeout(RENEW) {
            Ok(delivery) => {
                if let Err(error) = take(&mut collector, delivery, spare, shared) {
                    // The race cannot go on, but what its tasks came to is still known.
                    shared.abort(error.to_string());
                    collector.stop_writing();
                    failed.get_or_insert(error);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if renewed.elapsed() >= RENEW {
            renewed = Instant::now();
            shared.progress().tasks = collector.progress(shared.elapsed_ns(renewed));
        }
    }
    shared.progress().tasks.clear();
    let written = collector.close();
    failed.map_or(written, Err)
}

fn take(
    collector: &mut Collector,
    delivery: Delivery,
    spare: &Spare,
    shared: &Shared,
) -> Result<(), RecordError> {
    if let Some(end) = collector.receive(delivery, spare)? {
        shared.progress().tasks.retain(|running| running.task != end.result.task);
        shared.publish(Event::TaskFinished(Box::new(end.result)));
    }
    Ok(())
}

/// The plan's word for the samples that are kept, as the recorders know it.
pub fn keep(samples: Samples) -> Keep {
    match samples {
        Samples::All => Keep::All,
        Samples::None => Keep::None,
        Samples::Auto => Keep::Auto,
    }
}

/// What the collector has to know of the plan's tasks.
pub fn task_infos(plan: &Plan) -> Vec<TaskInfo> {
    let info = |task: &pacenote_plan::Task| {
        let clients = u64::from(task.clients);
        let (warmup_ns, end_ns, counted) = match task.bound {
            Bound::Iterations { warmup, measured } => {
                (None, None, Some(warmup.saturating_add(measured).saturating_mul(clients)))
            }
            Bound::Time { warmup_s, measured_s } => {
                (Some(ns(warmup_s)), measured_s.map(|measured_s| ns(warmup_s + measured_s)), None)
            }
        };
        let operations = counted.or_else(|| match &task.work {
            Work::Bulk(bulk) if end_ns.is_none() => planned_bulks(task, bulk),
            _ => None,
        });
        TaskInfo {
            task: task.name.clone(),
            operation: task.operation.clone(),
            operation_type: task.operation_type.clone(),
            unit: task.unit.clone(),
            clients: task.clients,
            paced: !matches!(task.pace, Pace::Unpaced {}),
            open_loop: task.open_loop,
            warmup_ns,
            end_ns,
            interval_ns: match task.pace {
                Pace::Deterministic { interval_s } => Some(ns(interval_s)),
                _ => None,
            },
            operations,
        }
    };
    plan.tasks.iter().map(info).collect()
}
