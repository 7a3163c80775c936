//! The control thread: sends the workers from step to step.
//!
//! | state | until | then |
//! | --- | --- | --- |
//! | preparing | every worker is ready: clients connected, sources built; Python too, where a task needs it | running; an error ends the race |
//! | running | every worker is done: its last client has ended | preparing the next step |
//! | stopping | the race was stopped or aborted: workers end the present step early | no further step |

pub mod collect;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pacenote_plan::Plan;
use pacenote_record::{Delivery, Outgoing};
use tokio::sync::mpsc::UnboundedSender;

use crate::error::DriveError;
use crate::operation::bulk::DataFiles;
use crate::python::Lane;
use crate::shared::{Shared, StopLevel, lock};
use crate::step::StepRun;
use crate::summary::ThreadSummary;
use crate::worker::thread::{Order, Report};

/// What the names of all threads begin with.
pub const THREADS: &str = "pacenote-";

/// How long to wait for a report before looking whether the workers still live.
const LOOK_AROUND: Duration = Duration::from_millis(500);

/// The workers, seen from the control thread.
#[derive(Debug)]
pub struct Crew {
    /// A way to each worker.
    pub orders: Vec<UnboundedSender<Order>>,
    /// Their answers.
    pub reports: Receiver<Report>,
    /// Their threads, and that of Python's requests. None ends before the race does.
    pub threads: Vec<JoinHandle<Result<ThreadSummary, DriveError>>>,
    /// Python's hand in the race, if the plan asks for one.
    pub lane: Option<Arc<Lane>>,
}

impl Crew {
    /// Runs all steps of a plan.
    ///
    /// # Errors
    ///
    /// When a step could not be prepared, or a worker died.
    pub fn run(&self, plan: &Arc<Plan>, shared: &Arc<Shared>, outgoing: &Outgoing) -> Result<(), DriveError> {
        for index in 0..plan.steps.len() {
            if shared.stop_level() != StopLevel::Run {
                break;
            }
            self.run_step(&Arc::new(StepRun::new(plan, index, shared)), shared, outgoing)?;
            shared.progress().step = index + 1;
        }
        Ok(())
    }

    fn run_step(&self, step: &Arc<StepRun>, shared: &Shared, outgoing: &Outgoing) -> Result<(), DriveError> {
        let mut files = DataFiles::default();
        for run in step.tasks() {
            files.open(&step.plan().tasks[run.index as usize])?;
        }
        let files = Arc::new(files);
        let lane = self.lane.as_ref().filter(|lane| lane.open_step(step));
        self.tell_all(|| Order::Prepare(Arc::clone(step), Arc::clone(&files)))?;
        self.hear_all(|report| match report {
            Report::Ready(result) => result,
            Report::Done => Ok(()),
        })?;
        if let Some(lane) = lane
            && !lane.await_prepared(shared)?
        {
            return Ok(());
        }
        let now = Instant::now();
        lock(&shared.began).get_or_insert(now);
        let started_ns = shared.elapsed_ns(now);
        for run in step.tasks() {
            let threads = self.threads_of(step, run.index);
            outgoing.send(Delivery::Begin { task: run.index, threads, started_ns });
        }
        if let Some(lane) = lane {
            lane.begin_step();
        }
        self.tell_all(|| Order::Start)?;
        self.hear_all(|_| Ok(()))?;
        if let Some(lane) = lane {
            lane.finish_step(step);
        }
        Ok(())
    }

    /// How many workers have clients of a task.
    fn threads_of(&self, step: &StepRun, task: u32) -> u32 {
        let workers = self.orders.len();
        let has = |worker: &usize| {
            step.clients_of(*worker, workers)
                .any(|slot| slot.allocations.iter().any(|share| share.task == task))
        };
        u32::try_from((0..workers).filter(has).count()).unwrap_or(u32::MAX)
    }

    fn tell_all(&self, order: impl Fn() -> Order) -> Result<(), DriveError> {
        for worker in &self.orders {
            worker.send(order()).map_err(|_| DriveError::ThreadDied("a worker takes no orders".into()))?;
        }
        Ok(())
    }

    /// Waits for one report of each worker; all are heard before the first error is returned.
    fn hear_all(&self, judge: impl Fn(Report) -> Result<(), DriveError>) -> Result<(), DriveError> {
        let mut result = Ok(());
        let mut missing = self.orders.len();
        while missing > 0 {
            match self.reports.recv_timeout(LOOK_AROUND) {
                Ok(report) => {
                    missing -= 1;
                    result = result.and(judge(report));
                }
                Err(RecvTimeoutError::Timeout) if !self.threads.iter().any(JoinHandle::is_finished) => {}
                Err(_) => return result.and(Err(DriveError::ThreadDied("a worker gave no answer".into()))),
            }
        }
        result
    }

    /// Sends the workers home and hears what they used, and how the first of those that died did.
    pub fn dismiss(self) -> (Vec<ThreadSummary>, Option<DriveError>) {
        for worker in &self.orders {
            // A worker that died is found out below.
            let _ = worker.send(Order::Quit);
        }
        let (mut summaries, mut died) = (Vec::new(), None);
        for thread in self.threads {
            match join(thread).flatten() {
                Ok(summary) => summaries.push(summary),
                Err(error) => drop(died.get_or_insert(error)),
            }
        }
        (summaries, died)
    }
}

/// Waits for a thread to end; tells its panic if that is how it ended.
///
/// # Errors
///
/// When it panicked.
pub fn join<T>(thread: JoinHandle<T>) -> Result<T, DriveError> {
    let name = thread.thread().name().map_or("a thread", |name| name.trim_start_matches(THREADS)).to_owned();
    thread.join().map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        DriveError::ThreadDied(format!("{name} panicked: {}", text.unwrap_or("it did not say why")))
    })
}
