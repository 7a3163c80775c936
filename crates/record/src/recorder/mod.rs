//! The recorder of one worker: counts, histograms and samples of the operations of its clients.
//!
//! It sends what it has recorded as [`Delivery`] messages once a second, when a buffer is full, and when a task ends;
//! the collector merges them. A recorder belongs to one thread, which calls it for every operation, so it does not
//! allocate, lock or send anything per operation that succeeds.

mod open_task;

pub use open_task::{RecordingSettings, ServiceTimeTotals};

use crate::buffers::{BUFFER_CAPACITY, MissingSamples};
use crate::catalog::SubOperationName;
use crate::client_span::ClientSpan;
use crate::delivery::Delivery;
use crate::details::{Details, ReservedDetails, SampleBatch, SampleDetails};
use crate::error::RecordError;
use crate::failure::Failure;
use crate::flights::FlightLog;
use crate::overhead::ClientOverhead;
use crate::recorder::open_task::{OpenTask, add_to_second};
use crate::result::EndedBy;
use crate::sample::{Sample, SampleType, Traffic};
use crate::sender::RecordSender;
use crate::unsent::UnsentOperations;
use crate::warmup_backlog::{ClientBacklogEnd, DrainedWindow};

/// Records the operations of one worker's clients during a step. It is owned by the worker's thread, and the clients
/// borrow it in turn; it is never shared between threads, so borrowing needs no lock.
///
/// It has the only list of the worker's open tasks: the first client opens a task, and the end of the last client or
/// [`Recorder::close_dropped_tasks`] closes it. Calls for tasks that are not open have no effect.
#[derive(Debug)]
pub struct Recorder {
    sender: RecordSender,
    open_tasks: Vec<OpenTask>,
    /// Totals for the tasks that have been closed.
    service_time_totals: Vec<ServiceTimeTotals>,
    samples: Vec<Sample>,
    /// The details of samples in the buffer.
    details: Vec<SampleDetails>,
    /// Number of bytes of these details.
    details_bytes: usize,
}

/// Number of bytes of details with which a buffer is delivered although it is not full. The details of many operations
/// that are rare would otherwise exceed what may wait.
const DELIVERED_DETAILS: usize = 1 << 20;

/// How one client ended a task.
#[derive(Debug, Clone, Copy)]
pub struct ClientEnd {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Operations that its schedule has admitted to it, except those that were withdrawn.
    pub admitted: u64,
    /// When the task began, in nanoseconds since the race's first step.
    pub task_began_ns: u64,
}

impl Recorder {
    /// Creates a recorder without open tasks that delivers to `sender`.
    #[must_use]
    pub fn new(sender: RecordSender) -> Self {
        let samples = sender.buffers().add_recorder();
        Self {
            sender,
            open_tasks: Vec::new(),
            service_time_totals: Vec::new(),
            samples,
            details: Vec::new(),
            details_bytes: 0,
        }
    }

    /// Adds a client to a task, which remains open at least until [`Recorder::end_client`] is called for the client;
    /// the first client opens the task. Must be called before the task's clock starts.
    ///
    /// # Errors
    ///
    /// The errors from [`crate::DurationHistogram::new`].
    pub fn add_client(&mut self, task: RecordingSettings) -> Result<(), RecordError> {
        if let Some(open) = self.find_open(task.task_index) {
            open.clients_left += 1;
            open.flights.iter_mut().for_each(FlightLog::add_client);
            return Ok(());
        }
        let sample_decision = self.sender.buffers().count_and_decide(task.task_index, 0);
        self.open_tasks.push(OpenTask::new(task, sample_decision)?);
        Ok(())
    }

    /// Counts an operation that begins now.
    pub fn begin_operation(&mut self, task_index: u32, sample_type: SampleType) {
        if let Some(open) = self.find_open(task_index) {
            open.begun += 1;
            open.warmup_begun += u64::from(sample_type == SampleType::Warmup);
        }
    }

    /// Reverses [`Recorder::begin_operation`] because the runner is exhausted.
    pub fn withdraw_begun(&mut self, task_index: u32, sample_type: SampleType) {
        if let Some(open) = self.find_open(task_index) {
            let is_warmup = u64::from(sample_type == SampleType::Warmup);
            open.begun = open.begun.saturating_sub(1);
            open.warmup_begun = open.warmup_begun.saturating_sub(is_warmup);
        }
    }

    /// Counts an operation that has begun, but was due before a client was free for it.
    pub fn begin_waited(&mut self, task_index: u32) {
        if let Some(open) = self.find_open(task_index) {
            open.open_waited += 1;
        }
    }

    /// Reverses [`Recorder::begin_waited`] because the runner is exhausted.
    pub fn withdraw_waited(&mut self, task_index: u32) {
        if let Some(open) = self.find_open(task_index) {
            open.open_waited = open.open_waited.saturating_sub(1);
        }
    }

    /// Counts operations that were due but will not be sent.
    pub fn leave_unsent(&mut self, task_index: u32, unsent: UnsentOperations) {
        if let Some(open) = self.find_open(task_index) {
            open.unsent += unsent;
        }
    }

    /// Counts an operation that ends now, and that the warm-up had delayed; [`Recorder::record`] must record it next.
    pub fn record_warmup_delay(&mut self, sample: &Sample) {
        let Some(open) = self.find_open(sample.task_index) else { return };
        open.warmup_backlog.add_operation(sample.times.due_ns);
        open.flights.iter_mut().for_each(FlightLog::delay_next);
        if let Some(latency) = open.delayed_latency.as_mut().filter(|_| sample.is_success()) {
            latency.record(sample.times.latency_ns());
        }
    }

    /// Counts a client that ends.
    pub fn leave_warmup_backlog(&mut self, task_index: u32, client: ClientBacklogEnd) {
        if let Some(open) = self.find_open(task_index) {
            open.warmup_backlog.add_client(client);
        }
    }

    /// Begins the measured window of a task that waits for the backlog of its warm-up. Must be called before operations
    /// are recorded that end in the window, with the latest possible begin while it is not known, and again when the
    /// task ends.
    pub fn begin_window(&mut self, task_index: u32, window: DrainedWindow) {
        if let Some(open) = self.find_open(task_index) {
            open.measured_window = open.measured_window.begun_at(window.begin_ns);
            open.drained_window = Some(window);
        }
    }

    /// Returns whether clients of this recorder have not ended a task.
    #[must_use]
    pub fn is_open(&self, task_index: u32) -> bool {
        self.open_tasks.iter().any(|open| open.task_index == task_index)
    }

    /// Ends the measured window of a task at `end_ns`, in nanoseconds since the task began, because another task
    /// completed its step then. Operations that end later do not count towards its throughput.
    pub fn complete_window(&mut self, task_index: u32, end_ns: u64) {
        if let Some(open) = self.find_open(task_index) {
            open.measured_window = open.measured_window.completed_at(end_ns);
            open.completed_ns = Some(end_ns);
        }
    }

    /// Counts traffic that belongs to no operation that has ended: of operations without an outcome, and of requests
    /// that outlived their operation.
    pub fn record_other_traffic(&mut self, task_index: u32, traffic: Traffic) {
        if let Some(open) = self.find_open(task_index) {
            open.other_traffic += traffic;
        }
    }

    /// Begins an operation that the schedule did not admit. It represents a source's failure to supply an operation,
    /// and is counted as admitted so that the counts add up.
    pub fn begin_source_failure(&mut self, task_index: u32) {
        if let Some(open) = self.find_open(task_index) {
            open.admitted += 1;
            open.begun += 1;
        }
    }

    /// Counts an operation that its source supplied `waited_ns` too late.
    pub fn record_underrun(&mut self, task_index: u32, waited_ns: u64) {
        if let Some(open) = self.find_open(task_index) {
            open.underruns += 1;
            open.underrun_ns += waited_ns;
        }
    }

    /// Adds an operation to [`WorkerTaskEnd::driver_time`](crate::WorkerTaskEnd).
    pub fn record_driver_time(&mut self, task_index: u32, driver_ns: u64, service_ns: u64) {
        if let Some(open) = self.find_open(task_index) {
            open.driver_time.add_operation(driver_ns, service_ns);
        }
    }

    /// Adds what a client did besides its operations.
    pub fn record_overhead(&mut self, task_index: u32, overhead: ClientOverhead) {
        if let Some(open) = self.find_open(task_index) {
            open.overhead += overhead;
        }
    }

    /// Adds when a client was in a task that it has left.
    pub fn leave_client(&mut self, task_index: u32, span: ClientSpan) {
        if let Some(open) = self.find_open(task_index) {
            open.client_spans.push(span);
        }
    }

    /// Records an operation that has ended with its details, if the track asks for them, and, if it failed, the reasons.
    pub fn record(
        &mut self,
        sample: Sample,
        details: Option<Box<dyn Details>>,
        failures: impl IntoIterator<Item = Failure>,
    ) {
        let Some(open) = self.open_tasks.iter_mut().find(|open| open.task_index == sample.task_index) else {
            return;
        };
        open.ended_operations += 1;
        open.open_waited = open.open_waited.saturating_sub(u64::from(sample.times.waited()));
        if sample.is_success() {
            open.service_time_totals.succeeded += 1;
            open.service_time_totals.service_ns += sample.times.service_ns();
        }
        if let Some(flights) = &mut open.flights {
            flights.add(&sample);
        }
        let stats_of_second = &mut open.current_second_by_type[sample.sample_type.index()];
        add_to_second(stats_of_second, &sample, open.measured_window, &self.sender);
        let mut only_overload = None;
        for failure in failures {
            only_overload = Some(only_overload.unwrap_or(true) && failure.is_overload());
            open.failures.add(failure, sample.times.done_ns);
        }
        if only_overload == Some(true) && sample.result.error_class.is_reported() {
            stats_of_second.stats.counts.overloaded += 1;
        }
        if open.retain_sample(&sample) {
            let details = open.reserve_details(details, self.sender.buffers());
            self.push_sample(sample, details);
        }
    }

    /// Records a sub-operation that has ended, like [`Recorder::record`].
    ///
    /// # Errors
    ///
    /// The errors from [`crate::DurationHistogram::new`].
    pub fn record_sub_operation(
        &mut self,
        name: SubOperationName<'_>,
        mut sample: Sample,
        details: Option<Box<dyn Details>>,
        failures: impl IntoIterator<Item = Failure>,
    ) -> Result<(), RecordError> {
        let Some(open) = self.open_tasks.iter_mut().find(|open| open.task_index == sample.task_index) else {
            return Ok(());
        };
        let measured_window = open.measured_window;
        let sub_operation = open.open_sub_operation(name, &self.sender);
        sample.sub_operation = Some(sub_operation.number);
        let stats_of_second = sub_operation.current_second(sample.sample_type)?;
        add_to_second(stats_of_second, &sample, measured_window, &self.sender);
        for failure in failures {
            sub_operation.failures.add(failure, sample.times.done_ns);
        }
        if open.retain_sample(&sample) {
            let details = open.reserve_details(details, self.sender.buffers());
            self.push_sample(sample, details);
        }
        Ok(())
    }

    /// Sets the unit of a task's work for everything recorded from now on.
    pub fn set_unit(&mut self, task_index: u32, unit: String) {
        self.deliver_samples();
        self.sender.send(Delivery::Unit { task_index, unit });
    }

    /// Delivers everything recorded so far, except the samples if the disk is behind. Must be called once a second.
    pub fn flush(&mut self) {
        for open in &mut self.open_tasks {
            open.deliver(&self.sender);
        }
        if !self.sender.buffers().is_behind() {
            self.deliver_samples();
        }
    }

    /// Ends a task for one client; the last client closes the task.
    pub fn end_client(&mut self, end: ClientEnd) {
        let Some(position) = self.open_tasks.iter().position(|open| open.task_index == end.task_index) else {
            return;
        };
        let open = &mut self.open_tasks[position];
        open.ended_by = open.ended_by.max(end.ended_by);
        open.admitted += end.admitted;
        open.clients_left -= 1;
        if open.clients_left == 0 {
            self.deliver_samples();
            let open = self.open_tasks.swap_remove(position);
            let scheduled = open.scheduled();
            self.close_task(open, Some(scheduled), end.task_began_ns);
        }
    }

    /// Closes the tasks of clients that were dropped before they ended them, with or without an operation in progress.
    /// `task_began_ns` returns when a task began, in nanoseconds since the race's first step.
    pub fn close_dropped_tasks(&mut self, ended_by: EndedBy, task_began_ns: impl Fn(u32) -> u64) {
        self.deliver_samples();
        for mut open in std::mem::take(&mut self.open_tasks) {
            let task_began_ns = task_began_ns(open.task_index);
            open.ended_by = ended_by;
            self.close_task(open, None, task_began_ns);
        }
    }

    /// Returns the service times of the tasks that have been closed.
    #[must_use]
    pub fn service_time_totals(&self) -> &[ServiceTimeTotals] {
        &self.service_time_totals
    }

    fn find_open(&mut self, task_index: u32) -> Option<&mut OpenTask> {
        self.open_tasks.iter_mut().find(|open| open.task_index == task_index)
    }

    fn close_task(&mut self, mut open: OpenTask, scheduled: Option<u64>, task_began_ns: u64) {
        open.deliver(&self.sender);
        self.service_time_totals.push(open.service_time_totals);
        if open.overhead != ClientOverhead::default() {
            let (task_index, overhead) = (open.task_index, Box::new(open.overhead));
            self.sender.send(Delivery::Overhead { task_index, overhead });
        }
        let (task_index, spans) = (open.task_index, std::mem::take(&mut open.client_spans));
        self.sender.send(Delivery::Spans { task_index, spans });
        if let Some(latency) = open.delayed_latency.take().filter(|latency| latency.count() > 0) {
            let (task_index, latency) = (open.task_index, Box::new(latency));
            self.sender.send(Delivery::WarmupDelays { task_index, latency });
        }
        if let Some(flights) = open.flights.take().filter(|flights| !flights.is_empty()) {
            self.sender.send(Delivery::Flights { task_index, flights: Box::new(flights) });
        }
        self.sender.send(Delivery::WorkerTaskEnd(open.into_end(scheduled, task_began_ns)));
    }

    fn push_sample(&mut self, sample: Sample, details: Option<ReservedDetails>) {
        if let Some(details) = details {
            self.details_bytes += details.bytes();
            self.details.push(SampleDetails { position: self.samples.len(), details });
        }
        self.samples.push(sample);
        if self.samples.len() == BUFFER_CAPACITY || self.details_bytes >= DELIVERED_DETAILS {
            self.deliver_samples();
        }
    }

    fn deliver_samples(&mut self) {
        if self.samples.is_empty() {
            return;
        }
        match self.sender.buffers().try_replace() {
            Some(empty) => {
                let samples = std::mem::replace(&mut self.samples, empty);
                let details = std::mem::take(&mut self.details);
                self.sender.send(Delivery::Samples(SampleBatch { samples, details }));
            }
            None => self.drop_samples(),
        }
        self.details_bytes = 0;
        for open in &mut self.open_tasks {
            let samples = std::mem::take(&mut open.kept_since_decision);
            open.sample_decision = self.sender.buffers().count_and_decide(open.task_index, samples);
        }
    }

    /// Drops and counts the samples in the buffer, full or not, because the disk is too slow.
    fn drop_samples(&mut self) {
        self.details.clear();
        for sample in self.samples.drain(..) {
            if let Some(open) = self.open_tasks.iter_mut().find(|open| open.task_index == sample.task_index) {
                open.kept_since_decision = open.kept_since_decision.saturating_sub(1);
                open.missing.merge(MissingSamples::lost(sample.times.done_ns));
            }
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.sender.buffers().remove_recorder(std::mem::take(&mut self.samples));
    }
}
