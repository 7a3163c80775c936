//! The thread that writes the files of a race. A slow disk therefore delays neither recorders nor the collector.
//!
//! The data that waits to be written is limited: samples by the number of their buffers ([`BufferPool`]), lines of the
//! series by [`MAX_WAITING_BYTES`].

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::buffers::{BufferPool, LostSamples};
use crate::catalog::{Catalog, SubOperationInfo};
use crate::details::SampleBatch;
use crate::error::RecordError;
use crate::files::samples::{ClosedSamples, SamplesFile};
use crate::files::series::SeriesFile;

/// Maximum number of bytes of lines that wait for the disk: more than an hour at 10 kB per second.
const MAX_WAITING_BYTES: usize = 48 << 20;

/// A job for the writing thread.
enum Job {
    /// Samples to write.
    Samples {
        /// The samples in their buffer, with their details.
        batch: SampleBatch,
        /// The pool to which the buffer returns.
        buffers: BufferPool,
    },
    /// One second of a task, as a line of the journal.
    SeriesLine(String),
    /// A sub-operation to which later samples refer.
    SubOperation(SubOperationInfo),
    /// The unit of a task's work.
    Unit { task_index: u32, unit: String },
    /// Write the samples collected so far, because a task has ended.
    Flush,
}

/// The collector's handle to the writing thread.
#[derive(Debug)]
pub struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<RaceFiles>>,
    state: Arc<WriterState>,
}

#[derive(Debug, Default)]
struct WriterState {
    failed: AtomicBool,
    error: Mutex<Option<RecordError>>,
    waiting_bytes: AtomicUsize,
}

/// The files of a race that has ended.
#[derive(Debug, Default)]
pub struct ClosedFiles {
    /// Number of samples on disk.
    pub sample_count: u64,
    /// Samples that are not on disk because the file could not be written.
    pub lost: LostSamples,
    /// The first error, unless it was returned before.
    pub error: Option<RecordError>,
}

#[derive(Debug)]
struct RaceFiles {
    catalog: Catalog,
    samples: SamplesFile,
    series: SeriesFile,
}

impl Writer {
    /// Creates the files and starts the thread.
    ///
    /// # Errors
    ///
    /// An error if a file or the thread cannot be created.
    pub fn start(folder: &Path, catalog: Catalog) -> Result<Self, RecordError> {
        // The journal is created first and removed last: while it is locked, no other process changes the files.
        let series = SeriesFile::create(folder)?;
        let samples = SamplesFile::create(folder)?;
        let (jobs, receiver) = channel();
        let state = Arc::new(WriterState::default());
        let shared = Arc::clone(&state);
        let files = RaceFiles { catalog, samples, series };
        let thread = thread::Builder::new()
            .name("pacenote-write".into())
            .spawn(move || files.run(&receiver, &shared, Instant::now))
            .map_err(RecordError::Thread)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), state })
    }

    /// Stops writing: what waits and what is sent later is discarded.
    pub fn stop(&self) {
        self.state.failed.store(true, Ordering::Relaxed);
    }

    /// Stores an error, after which nothing more is written.
    pub fn fail(&self, error: RecordError) {
        self.state.fail(error);
    }

    /// Returns the first error once; later calls succeed.
    ///
    /// # Errors
    ///
    /// The first error, if it has not been returned before.
    pub fn take_error(&self) -> Result<(), RecordError> {
        if !self.state.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let error = self.state.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }

    /// Sends samples to be written, after which the thread releases their buffer to `buffers`.
    pub fn send_samples(&self, batch: SampleBatch, buffers: &BufferPool) {
        self.send(Job::Samples { batch, buffers: buffers.clone() });
    }

    /// Sends a line of the series to be written.
    ///
    /// # Errors
    ///
    /// An error if too many lines are already waiting.
    pub fn send_series_line(&self, line: String) -> Result<(), RecordError> {
        if self.state.waiting_bytes.fetch_add(line.len(), Ordering::Relaxed) > MAX_WAITING_BYTES {
            self.state.waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
            return Err(RecordError::Stalled);
        }
        self.send(Job::SeriesLine(line));
        Ok(())
    }

    /// Sends a sub-operation to which later samples refer.
    pub fn send_sub_operation(&self, info: SubOperationInfo) {
        self.send(Job::SubOperation(info));
    }

    /// Sends the unit of a task's work, which applies to later samples.
    pub fn send_unit(&self, task_index: u32, unit: String) {
        self.send(Job::Unit { task_index, unit });
    }

    /// Has the thread write the samples collected so far.
    pub fn send_flush(&self) {
        self.send(Job::Flush);
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // If there is no receiver, the thread has panicked, which is reported when it is joined.
            let _ = jobs.send(job);
        }
    }

    /// Waits until everything is written, and completes the files even if a write has failed. `lost_before` samples
    /// were lost before they were sent.
    #[must_use]
    pub fn close(mut self, lost_before: u64) -> ClosedFiles {
        self.jobs = None;
        let Some(files) = self.thread.take().and_then(|thread| thread.join().ok()) else {
            return ClosedFiles { error: Some(RecordError::Died), ..ClosedFiles::default() };
        };
        let ClosedSamples { rows, lost, error } = files.samples.close(&files.catalog, lost_before);
        let series = files.series.close();
        let error = self.take_error().err().or(series.err()).or(error);
        ClosedFiles { sample_count: rows, lost, error }
    }
}

impl WriterState {
    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Stores the error if it is the first one.
    fn fail(&self, error: RecordError) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

impl Drop for Writer {
    /// Writes all pending data but does not complete the files, as if the process had been killed.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl RaceFiles {
    fn run(mut self, jobs: &Receiver<Job>, state: &WriterState, now: impl Fn() -> Instant) -> Self {
        loop {
            let due_in = self.samples.due_in(now()).filter(|_| !state.has_failed());
            let result = match next_job(jobs, due_in) {
                Ok(job) => self.execute(job, state),
                Err(RecvTimeoutError::Timeout) if state.has_failed() => Ok(()),
                Err(RecvTimeoutError::Timeout) => self.samples.flush_aged(&self.catalog),
                Err(RecvTimeoutError::Disconnected) => return self,
            };
            if let Err(error) = result {
                state.fail(error);
            }
        }
    }

    /// After an error, nothing else is written, but buffers are still released.
    fn execute(&mut self, job: Job, state: &WriterState) -> Result<(), RecordError> {
        let writing = !state.has_failed();
        match job {
            Job::Samples { batch, buffers } => {
                let mut result = Ok(());
                if writing {
                    result = self.samples.append(&batch, &self.catalog);
                } else {
                    self.samples.lose(&batch.samples);
                }
                buffers.release(batch.samples);
                result
            }
            Job::SeriesLine(line) => {
                state.waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
                if writing { self.series.append(&line) } else { Ok(()) }
            }
            Job::SubOperation(info) => {
                self.catalog.sub_operations.push(info);
                Ok(())
            }
            Job::Unit { task_index, unit } => {
                let flushed = if writing { self.samples.flush(&self.catalog) } else { Ok(()) };
                self.catalog.tasks[task_index as usize].unit = unit;
                flushed
            }
            Job::Flush if writing => self.samples.flush(&self.catalog),
            Job::Flush => Ok(()),
        }
    }
}

/// Returns the next job, or that none has come in this time. Jobs that wait do not delay what is due.
fn next_job(jobs: &Receiver<Job>, due_in: Option<Duration>) -> Result<Job, RecvTimeoutError> {
    match due_in {
        None => Ok(jobs.recv()?),
        Some(Duration::ZERO) => Err(RecvTimeoutError::Timeout),
        Some(time) => jobs.recv_timeout(time),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::buffers::RetentionPolicy;
    use crate::files::fixtures::{catalog, sample};
    use crate::files::recover_files;

    fn samples(count: usize) -> Job {
        let batch = SampleBatch { samples: vec![sample(); count], details: Vec::new() };
        Job::Samples { batch, buffers: BufferPool::new(RetentionPolicy::All) }
    }

    /// Executes jobs, and returns the number of samples that are readable if the process is killed then. Each reading
    /// of the clock is `step` after the one before.
    fn readable_after(jobs: Vec<Job>, step: Duration, state: &WriterState) -> Option<u64> {
        let (folder, began, readings) = (tempfile::tempdir().unwrap(), Instant::now(), Cell::new(0));
        let catalog = catalog();
        let series = SeriesFile::create(folder.path()).unwrap();
        let samples = SamplesFile::create(folder.path()).unwrap();
        let (sender, receiver) = channel();
        for job in jobs {
            sender.send(job).unwrap();
        }
        drop(sender);
        let now = || began + step * readings.replace(readings.get() + 1);
        drop(RaceFiles { catalog, samples, series }.run(&receiver, state, now));
        std::fs::remove_file(folder.path().join("series.jsonl")).unwrap();
        recover_files(folder.path()).unwrap()
    }

    #[test]
    fn samples_of_a_running_task_are_written_when_they_are_ten_seconds_old() {
        let state = WriterState::default();
        let after =
            |ms| readable_after((0..5).map(|_| samples(2)).collect(), Duration::from_millis(ms), &state);
        // Five batches at intervals of 3.5 s: the first is 10.5 s old after the fourth, which is written with it.
        assert_eq!((after(1_000), after(3_500)), (Some(0), Some(8)));
        state.failed.store(true, Ordering::Relaxed);
        assert_eq!(after(3_500), Some(0));
    }
}
