//! The measured loop of one client.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use pacenote_plan::{OnError, PlannedTask, TaskBound};
use pacenote_record::{ClientSpan, EndedBy, ErrorClass, Recorder, SampleType, Traffic};

use crate::cancel::Cancellation;
use crate::operation::outcome::OperationOutcome;
use crate::python::ClientHandle;
use crate::race_state::StopLevel;
use crate::response::outcome::WorkOutcome;
use crate::schedule::budget::{AdmissionTimes, OperationBudget, TaskLimit};
use crate::schedule::client_schedule::{Schedule, ScheduleEnd};
use crate::schedule::clock::Clock;
use crate::schedule::pacer::Pacer;
use crate::schedule::shared_schedule::{AdmittedOperation, SharedSchedule};
use crate::schedule::warmup_backlog::ClientBacklog;
use crate::step_state::TaskState;
use crate::task_client_id::TaskClientId;
use crate::units::{nanos, nanos_since};
use crate::worker::operation_recorder::{LoopTimes, OperationRecorder};
use crate::worker::operations::ClientOperations;
use crate::worker::waits::{sleep_until, timeout_at};

/// Delay after a request that could not connect, in a task without a schedule. Without the delay, such a task would
/// fail millions of times.
const DELAY_AFTER_UNREACHABLE: Duration = Duration::from_millis(100);

/// Longest wait for a scheduler in Python to count the operations that were due when their client ended.
const BACKLOG_TIMEOUT: Duration = Duration::from_secs(5);

/// One client of a running task.
#[derive(Debug, Clone, Copy)]
pub struct RunningClient<'a> {
    /// The id of the client.
    pub id: TaskClientId,
    /// The task in the plan.
    pub task: &'a PlannedTask,
    /// The state of the task.
    pub task_state: &'a TaskState,
    /// When the task started; all its times are relative to this.
    pub origin: Instant,
    /// The client's handle to Python, if the task needs Python.
    pub handle: Option<&'a ClientHandle>,
}

/// When a client enters a task.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// When the client starts, in nanoseconds since the task started. This is later than 0 only with a ramp-up.
    pub start_ns: u64,
    /// Whether the client comes from another task of the step, and other clients have begun this one.
    pub joins_late: bool,
}

/// The measured loop of one client in one task. It is generic over the clock and the operations, so that tests can
/// replace them at no run-time cost in production.
#[derive(Debug)]
pub struct ClientLoop<'a, C, O> {
    /// Reads the time and sleeps until operations are due.
    pub clock: &'a mut C,
    /// Prepares and executes operations.
    pub operations: &'a mut O,
    /// The client.
    pub client: RunningClient<'a>,
    /// Records samples and counts; shared by the clients of the worker.
    pub recorder: &'a RefCell<Recorder>,
    /// Ends the loop early.
    pub cancellation: Cancellation<'a>,
}

impl<C: Clock, O: ClientOperations> ClientLoop<'_, C, O> {
    /// Executes operations until the client ends, and counts those that should have begun, but did not, even if the
    /// client is dropped. Returns the reason why it has ended.
    pub async fn run(&mut self, schedule: &mut Schedule, entry: Entry) -> EndedBy {
        let end_ns = TaskLimit::new(self.client.task.bound, 1).end_ns();
        self.cancellation.task_end = end_ns.map(|end_ns| self.instant_at(end_ns));
        let shares_schedule = matches!(schedule, Schedule::Shared { .. });
        let backlog = ClientBacklog::new(&self.client.task_state.warmup_backlog, shares_schedule);
        let progress = ScheduleProgress { admitted: None, backlog, span: ClientSpan::new(entry.start_ns) };
        let mut running = RunningSchedule { client_loop: self, schedule, progress, end: None };
        let RunningSchedule { client_loop, schedule, progress, end } = &mut running;
        let end = end.insert(client_loop.run_operations(schedule, entry, progress).await);
        client_loop.ask_scheduler_for_unsent(schedule, end).await;
        end.ended_by
    }

    /// Executes operations until the client ends.
    async fn run_operations(
        &mut self,
        schedule: &mut Schedule,
        entry: Entry,
        progress: &mut ScheduleProgress<'_>,
    ) -> ScheduleEnd {
        let mut free_since_ns = self.enter(schedule, entry);
        if !self.wait_until(entry.start_ns).await {
            return self.stop_reason().into();
        }
        loop {
            if let Some(reason) = self.cancellation.stop_reason() {
                return reason.into();
            }
            let next = self.next_operation(schedule).await;
            let NextOperation { due_ns, preparing_since, sample_type: planned } = match next {
                Ok(next) => *progress.admitted.insert(next),
                Err(end) => return end,
            };
            let waited = due_ns.is_some_and(|due_ns| due_ns < free_since_ns);
            if due_ns.is_some() {
                progress.backlog.take(planned, waited, || self.task_time_ns(self.clock.now()));
            }
            self.operations.compress().await;
            let is_due = due_ns.is_none() || self.wait_until(due_ns.unwrap_or(0)).await;
            // The race may have been stopped while the operation was compressed.
            progress.admitted = None;
            if !is_due || self.cancellation.stop_reason().is_some() {
                schedule.withdraw(due_ns, planned);
                return ScheduleEnd { not_begun_due_ns: due_ns, ..self.stop_reason().into() };
            }
            let now_ns = || self.task_time_ns(self.clock.now());
            let (sample_type, is_delayed) = progress.backlog.begin(planned, due_ns, now_ns);
            self.begin(sample_type, waited);
            progress.span.begin(sample_type, free_since_ns);
            let processing_start = if due_ns.is_some() { self.clock.now() } else { preparing_since };
            let Some(outcome) = self.operations.execute(&self.cancellation, sample_type).await else {
                let begun = BegunOperation { due_ns, planned, sample_type, waited };
                return self.end_without_outcome(schedule, &mut progress.backlog, begun);
            };
            self.clock.mark_ended();
            self.record_traffic_besides(outcome.traffic);
            let processing_end = self.operations.processing_end();
            let times = LoopTimes { due_ns, free_since_ns, processing_start, processing_end, is_delayed };
            free_since_ns = self.task_time_ns(outcome.freed);
            let was_last = self.client.handle.is_some() && self.notify_python(&outcome);
            let is_unreachable = outcome.result.error_class.is_unreachable();
            let unreachable = is_unreachable.then(|| self.operations.unreachable_hosts()).flatten();
            self.apply_failure_policy(&outcome.result, unreachable.as_deref());
            self.record(sample_type, &times, outcome);
            if was_last {
                return EndedBy::Source.into();
            }
            if unreachable.is_some() && due_ns.is_none() {
                self.cancellation.run_until_cancelled(self.clock.sleep_coarse(DELAY_AFTER_UNREACHABLE)).await;
            }
        }
    }

    /// Records what the client has missed if it joins late, and skips it if the schedule is its own: it does not catch up.
    /// Returns when it is free for its first operation, in nanoseconds since the task started.
    fn enter(&self, schedule: &mut Schedule, entry: Entry) -> u64 {
        if !entry.joins_late {
            return entry.start_ns;
        }
        let joined_ns = self.task_time_ns(self.clock.now());
        if let Schedule::PerClient { pacer, .. } = schedule {
            pacer.skip_to(joined_ns);
        }
        let follows_scheduler = self.client.handle.is_some_and(|handle| handle.channel().has_scheduler());
        if !follows_scheduler {
            let late_joins = &self.cancellation.race_state.late_joins;
            late_joins.add(self.client.id.task_index, entry.start_ns..joined_ns, schedule.limit());
        }
        entry.start_ns.max(joined_ns)
    }

    /// Prepares the next operation of the client.
    async fn next_operation(&mut self, schedule: &mut Schedule) -> Result<NextOperation, ScheduleEnd> {
        match schedule {
            Schedule::PerClient { pacer, budget } => self.next_of_own_schedule(pacer, budget).await,
            Schedule::Shared { shared, taken_count } => {
                self.next_of_shared_schedule(shared, taken_count).await
            }
        }
    }

    /// Prepares the next operation of a client with its own schedule.
    async fn next_of_own_schedule(
        &mut self,
        pacer: &mut Pacer,
        budget: &mut OperationBudget,
    ) -> Result<NextOperation, ScheduleEnd> {
        let scheduler = self.client.handle.filter(|handle| handle.channel().has_scheduler());
        let due_ns = match scheduler {
            None => pacer.next_due_of_ns(self.operations.next_document_count()),
            Some(handle) => match self.request_due_time(handle, budget).await? {
                Some(due_ns) => Some(due_ns),
                None => return Err(self.end_for_source()),
            },
        };
        let not_begun = |ended_by| ScheduleEnd { not_begun_due_ns: due_ns, ..ScheduleEnd::from(ended_by) };
        let (preparing_since, sample_type) = loop {
            let preparing_since = self.clock.now();
            let now_ns = self.task_time_ns(preparing_since);
            match budget.admit(AdmissionTimes { due_ns: due_ns.unwrap_or(now_ns), now_ns }) {
                Ok(sample_type) if !self.operations.is_starved() => break (preparing_since, sample_type),
                Ok(_) => budget.unadmit(),
                Err(ended_by) => return Err(not_begun(ended_by)),
            }
            let supplied = self.wait_for_supply(budget.end_ns()).await;
            self.record_underrun_since(self.instant_at(due_ns.unwrap_or(0)).max(preparing_since));
            supplied.map_err(not_begun)?;
        };
        if self.operations.prepare_next() {
            if let Some(documents) = self.operations.document_count() {
                pacer.set_last_documents(documents);
            }
            Ok(NextOperation { due_ns, preparing_since, sample_type })
        } else {
            budget.unadmit();
            Err(self.end_for_source())
        }
    }

    /// Prepares the next operation of the source, then takes the next due time from the shared schedule. The order
    /// matters: a client whose source is exhausted must not take a due time away from the other clients.
    async fn next_of_shared_schedule(
        &mut self,
        shared: &SharedSchedule,
        taken_count: &mut u64,
    ) -> Result<NextOperation, ScheduleEnd> {
        let preparing_since = self.clock.now();
        let mut now_ns = self.task_time_ns(preparing_since);
        if self.operations.is_starved() && shared.end_reason(now_ns).is_none() {
            let supplied = self.wait_for_supply(shared.end_ns()).await;
            if let Some(due_ns) = shared.peek_due_ns() {
                self.record_underrun_since(self.instant_at(due_ns).max(preparing_since));
            }
            supplied?;
            now_ns = self.task_time_ns(self.clock.now());
        }
        if let Some(ended_by) = shared.end_reason(now_ns) {
            return Err(ended_by.into());
        }
        if !self.operations.prepare_next() {
            return Err(self.end_for_source());
        }
        let AdmittedOperation { due_ns, sample_type } = shared.take(now_ns)?;
        *taken_count += 1;
        Ok(NextOperation { due_ns: Some(due_ns), preparing_since, sample_type })
    }

    /// Requests the next due time from a scheduler in Python. Returns `None` if the scheduler has no more operations.
    /// Never requests more due times than the task has operations.
    async fn request_due_time(
        &mut self,
        handle: &ClientHandle,
        budget: &OperationBudget,
    ) -> Result<Option<u64>, EndedBy> {
        if let Some(ended_by) = budget.end_reason(self.task_time_ns(self.clock.now())) {
            return Err(ended_by);
        }
        let end = budget.end_ns().map(|end_ns| self.instant_at(end_ns));
        let due_ns = timeout_at(self.clock, &self.cancellation, end, handle.request_due_ns()).await?;
        let due_ns = due_ns.ok_or(EndedBy::Time)?;
        // A due time of 0 means that the operation is due now, so it cannot be late.
        Ok(due_ns.map(|due_ns| if due_ns == 0 { self.task_time_ns(self.clock.now()) } else { due_ns }))
    }

    /// Waits until Python has supplied the next operation, its source has ended, or the time of the task has passed.
    async fn wait_for_supply(&mut self, end_ns: Option<u64>) -> Result<(), EndedBy> {
        let end = end_ns.map(|end_ns| self.instant_at(end_ns));
        let Self { clock, operations, cancellation, .. } = self;
        timeout_at(*clock, cancellation, end, operations.until_supplied()).await?;
        Ok(())
    }

    /// Asks the scheduler in Python which operations were due when the client ended, unless it ended because it had no
    /// more operations. A scheduler that fails is a failure, as is one that does not answer, but the latter not after a
    /// stop. Without an answer, only an operation that the client had reached is known to have been due.
    async fn ask_scheduler_for_unsent(&mut self, schedule: &Schedule, end: &mut ScheduleEnd) {
        let Some(handle) = self.client.handle.filter(|handle| handle.channel().has_scheduler()) else {
            return;
        };
        if matches!(end.ended_by, EndedBy::Source | EndedBy::Iterations) || handle.failure().is_some() {
            return;
        }
        let cutoff_ns = schedule.cutoff_ns(&self.with_stop_time(*end));
        let warmup_s = match self.client.task.bound {
            TaskBound::TimePeriod { warmup_s, .. } => warmup_s.max(self.drained_until_ns() as f64 / 1e9),
            TaskBound::Iterations { .. } => 0.0,
        };
        let limit = schedule.remaining_count().unwrap_or(u64::MAX);
        let timeout =
            Duration::from_millis(self.cancellation.step.plan().target.timeout_ms).min(BACKLOG_TIMEOUT);
        let answer = tokio::time::timeout(timeout, handle.request_backlog(cutoff_ns, warmup_s, limit)).await;
        if let Ok(unsent) = answer {
            // Python also answers after a failure, but with what it had counted until then.
            if let Some(reason) = handle.failure() {
                self.record_plugin_failure(reason);
            } else if let Some(unsent) = unsent {
                end.counted_by_scheduler = unsent;
            }
        } else if self.cancellation.race_state.stop_level() == StopLevel::Run {
            let seconds = timeout.as_secs_f64();
            let reason = format!("the scheduler did not answer within {seconds} s after the end of the task");
            self.record_plugin_failure(&reason);
        }
    }

    /// Returns the end with the time at which the race was stopped or the step completed, if either has happened, and
    /// the time until which the warm-up was drained.
    fn with_stop_time(&self, end: ScheduleEnd) -> ScheduleEnd {
        let is_stop = matches!(end.ended_by, EndedBy::CompletedBy | EndedBy::Stopped | EndedBy::Aborted);
        let stopped = self.cancellation.stopped_at().or_else(|| is_stop.then(|| self.clock.now()));
        ScheduleEnd {
            stopped_ns: stopped.map(|stopped| self.task_time_ns(stopped)),
            drained_until_ns: self.drained_until_ns(),
            ..end
        }
    }

    /// Returns the instant before which operations are due that belong to the warm-up if they are left unsent.
    fn drained_until_ns(&self) -> u64 {
        self.client.task_state.warmup_backlog.drained_until_ns(self.task_time_ns(self.clock.now()))
    }

    /// Records how long a client that needed an operation at `needed` waited for its source. A wait that ends because
    /// the source has ended does not count.
    fn record_underrun_since(&self, needed: Instant) {
        let waited = self.clock.now().saturating_duration_since(needed);
        if !waited.is_zero() && !self.operations.supply_has_ended() {
            self.recorder.borrow_mut().record_underrun(self.client.id.task_index, nanos(waited));
        }
    }

    /// Returns the reason why the client was stopped.
    fn stop_reason(&self) -> EndedBy {
        self.cancellation.stop_reason().unwrap_or(EndedBy::Stopped)
    }

    /// Sends the outcome of an operation to the scheduler in Python, and records the unit that a Python runner
    /// returned and its wait for parameters. Returns `true` if the operation was the client's last.
    fn notify_python(&mut self, outcome: &OperationOutcome) -> bool {
        let RunningClient { id, task, task_state, handle, .. } = self.client;
        if let Some(handle) = handle {
            // Only requests of a runner outlive their operation.
            if handle.channel().has_runner() {
                let late_traffic = handle.channel().take_late_traffic();
                if late_traffic != Traffic::default() {
                    self.recorder.borrow_mut().record_other_traffic(id.task_index, late_traffic);
                }
            }
            handle.send_outcome(&outcome.result, &task.unit, self.task_time_ns(outcome.done) as f64 / 1e9);
        }
        let source_wait = self.operations.take_source_wait();
        if !source_wait.is_zero() {
            self.recorder.borrow_mut().record_underrun(id.task_index, nanos(source_wait));
        }
        if let Some(unit) = self.operations.take_unit()
            && task_state.set_unit(&unit)
            && unit != task.unit
        {
            self.recorder.borrow_mut().set_unit(id.task_index, unit);
        }
        self.operations.was_last()
    }

    /// Counts an operation that begins now; `waited` is whether it was due before the client was free.
    #[inline]
    fn begin(&mut self, sample_type: SampleType, waited: bool) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.begin_operation(self.client.id.task_index, sample_type);
        if waited {
            recorder.begin_waited(self.client.id.task_index);
        }
        self.clock.mark_begun();
    }

    /// Ends the client because an operation was not executed: the race or the step has ended, or its Python runner had
    /// no more operations.
    fn end_without_outcome(
        &self,
        schedule: &mut Schedule,
        backlog: &mut ClientBacklog<'_>,
        begun: BegunOperation,
    ) -> ScheduleEnd {
        let runner = self.client.handle.filter(|handle| handle.channel().has_runner());
        if !runner.is_some_and(|handle| handle.channel().is_finished()) {
            return self.stop_reason().into();
        }
        self.recorder.borrow_mut().withdraw_begun(self.client.id.task_index, begun.sample_type);
        if begun.waited {
            self.recorder.borrow_mut().withdraw_waited(self.client.id.task_index);
        }
        backlog.withdraw();
        // The window may have begun when another client executes it.
        schedule.withdraw(begun.due_ns, begun.planned);
        self.end_for_source()
    }

    /// Ends the client because its source has no more operations. An error in Python is recorded as the failure of one
    /// operation; data that cannot be read aborts the race.
    fn end_for_source(&self) -> ScheduleEnd {
        if let Some(reason) = self.operations.failure() {
            let task = &self.client.task.name;
            self.cancellation.race_state.abort(format!("task {task}: {reason}"));
            return EndedBy::Aborted.into();
        }
        let Some(reason) = self.client.handle.and_then(ClientHandle::failure) else {
            return EndedBy::Source.into();
        };
        self.record_plugin_failure(reason);
        ScheduleEnd { source_failed: true, ..EndedBy::Source.into() }
    }

    /// Records the failure of a source or a scheduler as that of one operation.
    fn record_plugin_failure(&self, reason: &str) {
        self.recorder.borrow_mut().begin_source_failure(self.client.id.task_index);
        let now = self.clock.now();
        let outcome = OperationOutcome {
            first_sent: now,
            service_start: now,
            done: now,
            freed: now,
            result: WorkOutcome::failure(ErrorClass::Plugin, reason.to_owned()),
            ..OperationOutcome::nothing()
        };
        let times = LoopTimes {
            due_ns: None,
            free_since_ns: self.task_time_ns(now),
            processing_start: now,
            processing_end: Some(now),
            is_delayed: false,
        };
        self.apply_failure_policy(&outcome.result, None);
        self.record(SampleType::Measured, &times, outcome);
    }

    /// Sleeps until `at_ns` nanoseconds after the start of the task. Returns `false` if the race or the step ends
    /// first.
    fn wait_until(&mut self, at_ns: u64) -> impl Future<Output = bool> {
        let instant = self.instant_at(at_ns);
        sleep_until(self.clock, &self.cancellation, instant)
    }

    /// Records an operation that has ended. Inlined, because a call would copy the outcome.
    #[inline]
    fn record(&self, sample_type: SampleType, times: &LoopTimes, outcome: OperationOutcome) {
        let Self { client: RunningClient { id, origin, task_state, .. }, recorder, cancellation, .. } = *self;
        if let Some(drain) = task_state.warmup_backlog.drain() {
            recorder.borrow_mut().begin_window(id.task_index, drain.window());
        }
        let operation_recorder = OperationRecorder { recorder, client: id, origin, cancellation };
        operation_recorder.record(sample_type, times, self.clock.now(), outcome);
    }

    /// Records the traffic of an operation that has ended besides that of its outcome: the requests of a composite's
    /// streams that were dropped, because another one had failed.
    #[inline]
    fn record_traffic_besides(&mut self, of_outcome: Traffic) {
        let traffic = self.operations.take_traffic();
        if traffic != of_outcome {
            let others = traffic.saturating_sub(of_outcome);
            self.recorder.borrow_mut().record_other_traffic(self.client.id.task_index, others);
        }
    }

    /// Aborts the race after a failure if the plan requires it, unless the race has been stopped. `unreachable`
    /// contains the hosts and ports of the cluster if the operation could not connect and no host is left for the next
    /// one.
    #[inline]
    fn apply_failure_policy(&self, result: &WorkOutcome, unreachable: Option<&str>) {
        let RunningClient { task, .. } = self.client;
        let (error_class, race_state) = (result.error_class, self.cancellation.race_state);
        match self.cancellation.step.plan().driver.on_error {
            _ if result.is_success() || race_state.stop_level() != StopLevel::Run => {}
            // If one of the track's assertions fails, the results of the race are useless.
            _ if error_class == ErrorClass::Assertion => {
                let reason = result.failures.first().map_or("", |failure| failure.reason.as_str());
                race_state.abort_at(format!("task {}: {reason}", task.name), self.clock.now());
            }
            OnError::Continue if let Some(hosts) = unreachable => {
                let reason = result.failures.first().map_or("", |failure| failure.reason.as_str());
                race_state.abort_at(
                    format!("{hosts} cannot be reached in task {}: {reason}", task.name),
                    self.clock.now(),
                );
            }
            _ if task.must_succeed => {
                let hint = "later tasks depend on it (--on-error=continue runs them)";
                race_state.abort_at(
                    format!("task {} failed: {}; {hint}", task.name, result.describe()),
                    self.clock.now(),
                );
            }
            OnError::Abort if !task.tolerates_errors => {
                race_state.abort_at(
                    format!("task {} failed ({})", task.name, error_class.name()),
                    self.clock.now(),
                );
            }
            _ => {}
        }
    }

    /// Returns the instant `at_ns` nanoseconds after the start of the task.
    fn instant_at(&self, at_ns: u64) -> Instant {
        self.client.origin + Duration::from_nanos(at_ns)
    }

    /// Returns the nanoseconds from the start of the task to `instant`.
    fn task_time_ns(&self, instant: Instant) -> u64 {
        nanos_since(self.client.origin, instant)
    }
}

/// A schedule that a client executes. When the client ends or is dropped, the operations are counted that should have
/// begun, but did not.
struct RunningSchedule<'l, 'a, C: Clock, O: ClientOperations> {
    client_loop: &'l mut ClientLoop<'a, C, O>,
    schedule: &'l mut Schedule,
    progress: ScheduleProgress<'a>,
    /// Why the client has ended; `None` if it is dropped before.
    end: Option<ScheduleEnd>,
}

/// How far a client has come in its schedule.
struct ScheduleProgress<'a> {
    /// The operation that the schedule has admitted and that has not begun.
    admitted: Option<NextOperation>,
    /// Whether its operations wait for those of the warm-up.
    backlog: ClientBacklog<'a>,
    /// When the client is in the task.
    span: ClientSpan,
}

impl<C: Clock, O: ClientOperations> RunningSchedule<'_, '_, C, O> {
    /// Returns the end of a client that is dropped. It executes an operation, and has not reached another one, or it
    /// compresses one that has not begun, which is withdrawn.
    fn end_of_dropped(&mut self) -> ScheduleEnd {
        let not_begun_due_ns =
            self.progress.admitted.take().and_then(|NextOperation { due_ns, sample_type, .. }| {
                self.schedule.withdraw(due_ns, sample_type);
                due_ns
            });
        ScheduleEnd { not_begun_due_ns, ..EndedBy::Stopped.into() }
    }
}

impl<C: Clock, O: ClientOperations> Drop for RunningSchedule<'_, '_, C, O> {
    fn drop(&mut self) {
        let end = self.end.take().unwrap_or_else(|| self.end_of_dropped());
        let now = self.client_loop.clock.now();
        let span = self.progress.span.until(self.client_loop.task_time_ns(now));
        let backlog = self.progress.backlog.leave(|| self.client_loop.task_time_ns(now));
        let unsent = self.schedule.end(&self.client_loop.with_stop_time(end));
        let ClientLoop { client, recorder, operations, .. } = &mut *self.client_loop;
        if end.source_failed
            && let Some(rest) = self.schedule.rest()
        {
            client.task_state.keep_failed_schedule(rest);
        }
        let mut other_traffic = operations.take_traffic();
        if let Some(handle) = client.handle {
            other_traffic += handle.channel().take_late_traffic();
        }
        if let Ok(mut recorder) = recorder.try_borrow_mut() {
            recorder.leave_unsent(client.id.task_index, unsent);
            recorder.leave_warmup_backlog(client.id.task_index, backlog);
            recorder.leave_client(client.id.task_index, span);
            if let Some(drain) = client.task_state.warmup_backlog.drain() {
                recorder.begin_window(client.id.task_index, drain.window());
            }
            recorder.record_other_traffic(client.id.task_index, other_traffic);
            recorder.record_overhead(client.id.task_index, operations.take_overhead());
        }
    }
}

/// An operation that is about to begin.
#[derive(Debug, Clone, Copy)]
struct NextOperation {
    /// When it is due, in nanoseconds since the task started, or `None` if it is due as soon as the client is free.
    due_ns: Option<u64>,
    /// When the client started to prepare it.
    preparing_since: Instant,
    sample_type: SampleType,
}

/// An operation that has begun.
#[derive(Debug, Clone, Copy)]
struct BegunOperation {
    /// When it was due, in nanoseconds since the task started, or `None` if it was due when the client was free.
    due_ns: Option<u64>,
    /// Its type according to the plan.
    planned: SampleType,
    /// Its type: warm-up as well if the window had not begun.
    sample_type: SampleType,
    /// Whether it was due before the client was free.
    waited: bool,
}
