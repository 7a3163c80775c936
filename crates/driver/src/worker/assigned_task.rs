//! Runs the tasks of one client in a step, one after another.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use pacenote_record::{ClientEnd, EndedBy, Recorder, UnsentOperations};

use crate::cancel::Cancellation;
use crate::python::ClientHandle;
use crate::race_state::StopLevel;
use crate::schedule::client_schedule::{Schedule, ScheduleEnd};
use crate::schedule::clock::Clock;
use crate::step_state::{TaskStart, TaskState};
use crate::task_client_id::TaskClientId;
use crate::units::nanos_since;
use crate::worker::client_loop::{ClientLoop, Entry, RunningClient};
use crate::worker::operations::ClientOperations;

/// One task of a client in a step.
#[derive(Debug)]
pub struct AssignedTask<O> {
    /// The id of the client.
    pub id: TaskClientId,
    /// When the client starts, in nanoseconds since the task started. This is later than 0 only with a ramp-up.
    pub start_ns: u64,
    /// When operations are due, and when the client ends.
    pub schedule: Schedule,
    /// The operations that the client executes.
    pub operations: O,
    /// The client's handle to Python, if the task needs Python.
    pub handle: Option<ClientHandle>,
}

impl<O> AssignedTask<O> {
    /// Leaves the task at `now`, because the client was stopped for `reason` before it began it. What it missed counts as
    /// a late join. Returns what is unsent of a schedule that it shares with others.
    fn leave_unstarted(
        &mut self,
        task_state: &TaskState,
        cancellation: &Cancellation<'_>,
        (reason, now): (EndedBy, Instant),
    ) -> UnsentOperations {
        let stopped = cancellation.stopped_at().unwrap_or(now);
        let stopped_ns = nanos_since(task_state.origin_or_begin(now), stopped);
        let has_scheduler = self.handle.as_ref().is_some_and(|handle| handle.channel().has_scheduler());
        if !has_scheduler {
            let missed = self.start_ns..stopped_ns;
            cancellation.race_state.late_joins.add(self.id.task_index, missed, self.schedule.limit());
        }
        if matches!(self.schedule, Schedule::PerClient { .. }) {
            return UnsentOperations::default();
        }
        let drained_until_ns = task_state.warmup_backlog.drained_until_ns(stopped_ns);
        let stopped_ns = Some(stopped_ns);
        self.schedule.end(&ScheduleEnd { stopped_ns, drained_until_ns, ..ScheduleEnd::from(reason) })
    }
}

/// Runs the tasks of a client, one after another, and keeps the index of the one that runs in `current_task`. Once the
/// client has been stopped, its remaining tasks end immediately.
pub async fn run_tasks<C: Clock, O: ClientOperations>(
    clock: &mut C,
    tasks: &mut [AssignedTask<O>],
    recorder: &RefCell<Recorder>,
    cancellation: Cancellation<'_>,
    current_task: &Cell<u32>,
) {
    let (mut stop_reason, last_position) = (None, tasks.len().saturating_sub(1));
    for (position, assigned_task) in tasks.iter_mut().enumerate() {
        current_task.set(assigned_task.id.task_index);
        let Some((task_state, task)) = cancellation.step.task(assigned_task.id.task_index) else { continue };
        if let Some(reason) = stop_reason {
            let missed = assigned_task.leave_unstarted(task_state, &cancellation, (reason, clock.now()));
            recorder.borrow_mut().leave_unsent(assigned_task.id.task_index, missed);
        }
        let AssignedTask { id, start_ns, schedule, operations, handle } = assigned_task;
        let ended_by = if let Some(reason) = stop_reason {
            reason
        } else {
            let TaskStart { origin, is_first } = task_state.enter(clock.now());
            let client = RunningClient { id: *id, task, task_state, origin, handle: handle.as_ref() };
            let mut client_loop = ClientLoop { clock, operations, client, recorder, cancellation };
            // The client that begins the task has missed nothing of its schedule, even if it comes from another task.
            let joins_late = position > 0 && !is_first;
            client_loop.run(schedule, Entry { start_ns: *start_ns, joins_late }).await
        };
        stop_reason = cancellation.stop_reason();
        if let Some(handle) = handle {
            handle.end();
        }
        let origin = task_state.origin_or_begin(clock.now());
        let stopped_ns = cancellation.stopped_at().map(|stopped| nanos_since(origin, stopped));
        let is_last = cancellation.step.client_ended(task_state, clock.now());
        if position == last_position && cancellation.race_state.stop_level() == StopLevel::Run {
            operations.look_for_unsolicited().await;
        }
        let mut recorder = recorder.borrow_mut();
        recorder.record_overhead(id.task_index, operations.take_overhead());
        if is_last {
            recorder.leave_unsent(id.task_index, task_state.take_unsent_of_failed(stopped_ns));
        }
        if let (EndedBy::CompletedBy, Some(completed_ns)) = (ended_by, stopped_ns) {
            recorder.complete_window(id.task_index, completed_ns);
        }
        recorder.end_client(ClientEnd {
            task_index: id.task_index,
            ended_by,
            admitted: schedule.admitted_count(),
            task_began_ns: cancellation.race_state.race_time_ns(origin),
        });
    }
}
