//! The thread that writes the files of a race, so that a slow disk holds up neither recorders nor the merging of what
//! they deliver.
//!
//! What waits for it is bounded: samples by the number of their buffers ([`Spare`]), rows by [`MOST_WAITING`].

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::buffers::Spare;
use crate::catalog::{Names, PartInfo};
use crate::error::RecordError;
use crate::files::samples::SamplesFile;
use crate::files::series::SeriesFile;
use crate::sample::Sample;

/// Bytes of rows that may wait for the disk: with a row of 10 kB a second, those of more than an hour.
const MOST_WAITING: usize = 48 << 20;

/// What is to be written.
enum Job {
    Samples(Vec<Sample>, Spare),
    /// A second of a task, as a line of the journal.
    Row(String),
    /// What later samples refer to.
    Part(PartInfo),
    Unit(u32, String),
    /// A task has ended: what is gathered of it is to be on disk.
    Flush,
}

/// The thread, seen from the collector.
#[derive(Debug)]
pub struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<Files>>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    failed: AtomicBool,
    error: Mutex<Option<RecordError>>,
    /// Bytes of rows that wait.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct Files {
    names: Names,
    samples: SamplesFile,
    series: SeriesFile,
}

impl Writer {
    /// Creates the files and the thread.
    pub fn start(folder: &Path, names: Names) -> Result<Self, RecordError> {
        // The journal comes first and goes last: while it is held, nobody else touches the others.
        let series = SeriesFile::create(folder)?;
        let samples = SamplesFile::create(folder)?;
        let (jobs, todo) = channel();
        let state = Arc::new(State::default());
        let theirs = Arc::clone(&state);
        let files = Files { names, samples, series };
        let thread = thread::Builder::new()
            .name("pacenote-write".into())
            .spawn(move || files.serve(&todo, &theirs))
            .map_err(RecordError::Thread)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), state })
    }

    /// Takes down that something could not be written; nothing more is.
    pub fn fail(&self, error: RecordError) {
        self.state.fail(error);
    }

    /// Why a file could not be written, once.
    pub fn check(&self) -> Result<(), RecordError> {
        if !self.state.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let error = self.state.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }

    /// Writes samples and gives their buffer back.
    pub fn samples(&self, samples: Vec<Sample>, spare: &Spare) {
        self.send(Job::Samples(samples, spare.clone()));
    }

    /// Writes a row of the series.
    ///
    /// # Errors
    ///
    /// When too much waits already.
    pub fn row(&self, row: String) -> Result<(), RecordError> {
        if self.state.waiting.fetch_add(row.len(), Ordering::Relaxed) > MOST_WAITING {
            self.state.waiting.fetch_sub(row.len(), Ordering::Relaxed);
            return Err(RecordError::Stalled);
        }
        self.send(Job::Row(row));
        Ok(())
    }

    /// Takes down a part that later samples refer to.
    pub fn part(&self, part: PartInfo) {
        self.send(Job::Part(part));
    }

    /// Takes down the unit of a task's work.
    pub fn unit(&self, task: u32, unit: String) {
        self.send(Job::Unit(task, unit));
    }

    /// Writes what is gathered.
    pub fn flush(&self) {
        self.send(Job::Flush);
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Without a receiver the thread has panicked; joining it says so.
            let _ = jobs.send(job);
        }
    }

    /// Waits until all is written and completes the files, also those that could not be written to their end. Returns
    /// the number of samples on disk.
    ///
    /// # Errors
    ///
    /// The first of everything that went wrong and was not told yet.
    pub fn close(mut self) -> Result<u64, RecordError> {
        self.jobs = None;
        let files = self.thread.take().and_then(|thread| thread.join().ok()).ok_or(RecordError::Died)?;
        let written = files.samples.close(&files.names);
        let series = files.series.close();
        self.check()?;
        series?;
        written
    }
}

impl State {
    /// The first failure stands.
    fn fail(&self, error: RecordError) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

impl Drop for Writer {
    /// What was handed over is written; nothing is completed, as if the process had been killed.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Files {
    fn serve(mut self, todo: &Receiver<Job>, state: &State) -> Self {
        while let Ok(job) = todo.recv() {
            let whole = !state.failed.load(Ordering::Relaxed);
            if let Err(error) = self.carry_out(job, whole, state) {
                state.fail(error);
            }
        }
        self
    }

    /// After a failure nothing more is written, but buffers still come back.
    fn carry_out(&mut self, job: Job, whole: bool, state: &State) -> Result<(), RecordError> {
        match job {
            Job::Samples(samples, spare) => {
                let kept = if whole { self.samples.append(&samples, &self.names) } else { Ok(()) };
                spare.give_back(samples);
                kept
            }
            Job::Row(row) => {
                state.waiting.fetch_sub(row.len(), Ordering::Relaxed);
                if whole { self.series.append(&row) } else { Ok(()) }
            }
            Job::Part(part) => {
                self.names.parts.push(part);
                Ok(())
            }
            Job::Unit(task, unit) => {
                let flushed = if whole { self.samples.flush(&self.names) } else { Ok(()) };
                self.names.tasks[task as usize].unit = unit;
                flushed
            }
            Job::Flush if whole => self.samples.flush(&self.names),
            Job::Flush => Ok(()),
        }
    }
}
