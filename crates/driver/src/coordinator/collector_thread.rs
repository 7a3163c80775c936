//! The collector: the thread that merges the recordings of the workers and publishes results and progress.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use pacenote_record::{
    BufferPool, ClosedFiles, Collector, Delivery, FinishedTask, LostSamples, RecordError, file_contradiction,
};

use crate::race_state::{RaceEvent, RaceState};

/// Interval at which progress is updated.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// The collector's summary at the end of a race.
#[derive(Debug, Default)]
pub struct CollectorSummary {
    /// Number of samples on disk.
    pub sample_count: u64,
    /// Samples that are counted as kept in the results, but could not be written.
    pub lost_samples: LostSamples,
    /// Counts of the driver that do not add up, one sentence each.
    pub contradictions: Vec<String>,
    /// The error if the race folder could not be written.
    pub failure: Option<RecordError>,
}

/// Collects recordings until all recorders have been dropped. If the race folder cannot be written, the race is
/// aborted, and later deliveries are counted but not written.
pub fn collect(
    mut collector: Collector,
    deliveries: &Receiver<Delivery>,
    buffers: &BufferPool,
    race_state: &Arc<RaceState>,
) -> CollectorSummary {
    let mut last_update = Instant::now();
    let mut failure = None;
    loop {
        match deliveries.recv_timeout(UPDATE_INTERVAL) {
            Ok(delivery) => {
                let ended = collector.receive(delivery, buffers).unwrap_or_else(|error| {
                    // The race cannot continue, but the results of its tasks are still complete.
                    race_state.abort(error.to_string());
                    collector.disable_writing();
                    failure.get_or_insert(error);
                    None
                });
                if let Some(finished) = ended {
                    publish(finished, race_state);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if last_update.elapsed() >= UPDATE_INTERVAL {
            last_update = Instant::now();
            race_state.progress().running_tasks = collector.progress(race_state.race_time_ns(last_update));
        }
    }
    let mut orphans = 0;
    while let Some(orphan) = collector.finish_dropped_task() {
        orphans += 1;
        publish(orphan, race_state);
    }
    race_state.progress().running_tasks.clear();
    let (mut contradictions, samples_kept) = (collector.contradictions().to_vec(), collector.samples_kept());
    let ClosedFiles { sample_count, lost: lost_samples, error } = collector.close();
    // Samples that a thread had not delivered when it panicked are lost; the summary reports the panic.
    if orphans == 0 && !matches!(error, Some(RecordError::Died)) {
        let lost: u64 = lost_samples.values().map(|samples| samples.lost).sum();
        contradictions.extend(file_contradiction(samples_kept.saturating_sub(lost), sample_count));
    }
    let failure = failure.or(error);
    CollectorSummary { sample_count, lost_samples, contradictions, failure }
}

/// Publishes the result of a task that has ended.
fn publish(finished: FinishedTask, race_state: &RaceState) {
    race_state.progress().running_tasks.retain(|running| running.task != finished.result.task);
    race_state.publish(RaceEvent::TaskFinished(Box::new(finished.result)));
}
