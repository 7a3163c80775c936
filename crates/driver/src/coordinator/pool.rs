//! The workers of a race, and the thread of the bridge to Python.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::coordinator::threads::{DriverThread, join, run_thread, spawn};
use crate::error::DriveError;
use crate::python::RequestThread;
use crate::race_state::{RaceState, StopLevel};
use crate::step_state::{StepState, WorkerShare};
use crate::summary::ThreadSummary;
use crate::worker::thread::{Worker, WorkerCommand, WorkerContext, WorkerReply};

/// How long to wait for a reply before checking whether all threads are still running.
const LIVENESS_CHECK: Duration = Duration::from_millis(500);
/// How long operations in progress may continue after the race was stopped or aborted, before they are dropped.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The coordinator's handles to the threads of the workers.
#[derive(Debug)]
pub struct WorkerPool {
    /// One command channel for each worker, by its number.
    pub commands: Vec<UnboundedSender<WorkerCommand>>,
    /// The workers' replies.
    pub replies: Receiver<WorkerReply>,
    /// The threads of the workers, then the thread of the bridge to Python. Each runs until [`WorkerPool::shutdown`],
    /// except a worker that could not prepare a step.
    pub threads: Vec<DriverThread>,
}

/// The results of the threads of a pool.
#[derive(Debug, Default)]
pub struct PoolSummary {
    /// The summaries of the threads that ended normally.
    pub threads: Vec<ThreadSummary>,
    /// The error of the first thread that did not end normally.
    pub first_error: Option<DriveError>,
}

impl WorkerPool {
    /// Starts `worker_count` worker threads.
    ///
    /// # Errors
    ///
    /// If the operating system cannot start a thread.
    pub fn spawn_workers(context: &WorkerContext, worker_count: usize) -> Result<Self, DriveError> {
        let (reply_sender, replies) = channel();
        let (mut commands, mut threads) = (Vec::new(), Vec::new());
        for worker_index in 0..worker_count {
            let (sender, receiver) = unbounded_channel();
            commands.push(sender);
            let worker = Worker {
                share: WorkerShare { worker_index, worker_count },
                context: context.clone(),
                commands: receiver,
                replies: reply_sender.clone(),
            };
            let name = format!("drive-{worker_index}");
            threads.push(spawn(&name.clone(), move || run_thread(&name, worker.run()))?);
        }
        Ok(Self { commands, replies, threads })
    }

    /// Starts the thread that sends the requests of Python runners.
    ///
    /// # Errors
    ///
    /// If the operating system cannot start a thread.
    pub fn spawn_request_thread(
        &mut self,
        requests: RequestThread,
        race_state: Arc<RaceState>,
    ) -> Result<(), DriveError> {
        self.threads.push(spawn("lane", move || run_thread("lane", requests.serve(race_state)))?);
        Ok(())
    }

    /// Returns the number of workers that run clients of a task, which is given by its position in the plan.
    pub fn worker_count_of(&self, step: &StepState, task_index: u32) -> u32 {
        let worker_count = self.commands.len();
        let runs_task = |worker_index: &usize| {
            step.clients_of(WorkerShare { worker_index: *worker_index, worker_count })
                .any(|client| client.allocations.iter().any(|allocation| allocation.task_index == task_index))
        };
        u32::try_from((0..worker_count).filter(runs_task).count()).unwrap_or(u32::MAX)
    }

    /// Sends a command to every worker.
    ///
    /// # Errors
    ///
    /// If a worker has already ended.
    pub fn broadcast(&self, command: impl Fn() -> WorkerCommand) -> Result<(), DriveError> {
        for worker in &self.commands {
            let ended = |_| DriveError::ThreadDied("a worker does not accept commands".into());
            worker.send(command()).map_err(ended)?;
        }
        Ok(())
    }

    /// Waits for one reply from each worker. If the race is stopped or aborted, drops the operations that do not end in
    /// time.
    ///
    /// # Errors
    ///
    /// The first error of a reply, once all replies have been received. If a thread has ended before all have replied:
    /// the first error received so far, otherwise that a worker did not reply.
    pub fn wait_all(&self, race_state: &RaceState) -> Result<(), DriveError> {
        let mut result = Ok(());
        let mut replies_left = self.commands.len();
        while replies_left > 0 {
            match self.replies.recv_timeout(LIVENESS_CHECK) {
                Ok(reply) => {
                    replies_left -= 1;
                    result = result.and(match reply {
                        WorkerReply::Ready(prepared) => prepared,
                        WorkerReply::Done => Ok(()),
                    });
                }
                Err(RecvTimeoutError::Timeout) if !self.threads.iter().any(JoinHandle::is_finished) => {
                    if race_state
                        .stopped_at()
                        .is_some_and(|stopped_at| stopped_at.elapsed() >= SHUTDOWN_TIMEOUT)
                    {
                        race_state.stop(StopLevel::Abandon);
                    }
                }
                Err(_) => return result.and(Err(DriveError::ThreadDied("a worker did not reply".into()))),
            }
        }
        result
    }

    /// Ends all threads and waits for them.
    pub fn shutdown(self) -> PoolSummary {
        for worker in &self.commands {
            // A worker that has already ended is detected when its thread is joined.
            let _ = worker.send(WorkerCommand::Quit);
        }
        let mut summary = PoolSummary::default();
        for thread in self.threads {
            match join(thread).flatten() {
                Ok(thread) => summary.threads.push(thread),
                Err(error) => drop(summary.first_error.get_or_insert(error)),
            }
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::health::cpu::PeakLoad;
    use crate::scheduling::monitor::SchedulingMonitor;

    #[test]
    fn operations_that_do_not_end_in_time_after_an_abort_are_dropped() {
        let race_state = Arc::new(RaceState::new(1, 1, SchedulingMonitor::default()));
        let (reply_sender, replies) = channel();
        let shared = Arc::clone(&race_state);
        let worker = spawn("drive-0", move || {
            // A request without a response lasts until it is dropped.
            let started = Instant::now();
            while shared.stop_level() != StopLevel::Abandon && started.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            reply_sender.send(WorkerReply::Done).unwrap();
            Ok(ThreadSummary::of_current_thread("drive-0", started, PeakLoad::default()))
        });
        let (commands, _receiver) = unbounded_channel();
        let pool = WorkerPool { commands: vec![commands], replies, threads: vec![worker.unwrap()] };
        race_state.abort_at(
            "task t failed (timeout)".into(),
            Instant::now().checked_sub(SHUTDOWN_TIMEOUT).unwrap(),
        );
        pool.wait_all(&race_state).unwrap();
        assert_eq!(race_state.stop_level(), StopLevel::Abandon);
    }
}
