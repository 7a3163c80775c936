//! Totals of a task over all workers, and the result computed from them.

use std::ops::Range;

use pacenote_stats::{Steadiness, TaskSecond, rank};

use crate::buffers::MissingSamples;
use crate::catalog::TaskInfo;
use crate::client_span::{ClientSpan, absent_ns};
use crate::collector::accounting::OperationAccounting;
use crate::delivery::WorkerTaskEnd;
use crate::driver_time::DriverTime;
use crate::error::RecordError;
use crate::failure::FailureGroups;
use crate::flights::{EngineBacklog, FlightLog, MeasuredSpan};
use crate::histogram::DurationHistogram;
use crate::operation_stats::{OperationCounts, OperationStats, SecondStats};
use crate::overhead::ClientOverhead;
use crate::result::{
    CensoredPercentile, DurationSummary, EndedBy, OperationTotals, SampleCounts, TaskProgress, TaskResult,
    Throughput, WorkTotals,
};
use crate::sample::{SampleType, Traffic};
use crate::stretches::{Kind, Stretches};
use crate::surplus::Surplus;
use crate::units::{SECOND_NS, ms, seconds};
use crate::unsent::UnsentOperations;
use crate::warmup_backlog::{BacklogContext, DrainedWindow, WarmupBacklog, WarmupBacklogSummary};
use crate::window_counts::WindowCounts;

/// Everything recorded for one task.
#[derive(Debug)]
pub struct TaskTotals {
    task_index: u32,
    info: TaskInfo,
    queue_count: Option<u32>,
    /// The statistics for each sample type, indexed by [`SampleType::index`].
    stats: [OperationStats; 2],
    /// The values of each second since the task began.
    seconds: Vec<TaskSecond>,
    /// The measured operations by time.
    stretches: Stretches,
    failures: FailureGroups,
    kept_samples: u64,
    missing: MissingSamples,
    scheduled: Option<u64>,
    begun: u64,
    warmup_begun: u64,
    unanswered: u64,
    unanswered_waited: u64,
    unsent: UnsentOperations,
    warmup_backlog: WarmupBacklog,
    /// Latency of the measured operations that the warm-up delayed and that succeeded.
    delayed_latency: Option<DurationHistogram>,
    /// The operations around the begin of the window, of each worker that has ended.
    flights: Vec<FlightLog>,
    drained_window: Option<DrainedWindow>,
    underruns: u64,
    underrun_ns: u64,
    driver_time: DriverTime,
    overhead: ClientOverhead,
    /// When its clients were in it.
    client_spans: Vec<ClientSpan>,
    /// Traffic that belongs to no operation that has ended.
    other_traffic: Traffic,
    /// When another task completed the step, in nanoseconds since the task began.
    completed_ns: Option<u64>,
    ended_by: EndedBy,
    /// The latest second, which is not complete.
    current_second: RecentSecond,
    /// The second before it, from which the rate and percentiles of the progress are computed.
    previous_second: RecentSecond,
}

/// Statistics of one second of a task for its progress, over warm-up and measured operations.
#[derive(Debug)]
struct RecentSecond {
    /// Index of the second, from the start of the task; `None` before any statistics were added.
    second_index: Option<u64>,
    stats: OperationStats,
}

/// Most work that a result states: what fits into a signed integer, as in the tables. A plug-in may return any weight.
const MAX_WORK: u64 = i64::MAX as u64;

impl RecentSecond {
    fn new() -> Result<Self, RecordError> {
        Ok(Self { second_index: None, stats: OperationStats::service_time_only()? })
    }

    /// Removes the statistics and begins another second.
    fn restart(&mut self, second_index: u64) {
        self.second_index = Some(second_index);
        self.stats.clear();
    }
}

impl TaskTotals {
    /// Creates empty totals for a task whose clients take their operations from `queue_count` queues.
    ///
    /// # Errors
    ///
    /// The errors from [`DurationHistogram::new`].
    pub fn new(task_index: u32, info: TaskInfo, queue_count: Option<u32>) -> Result<Self, RecordError> {
        let [warmup, measured] = SampleType::ALL.map(|_| OperationStats::for_task(info.paced));
        Ok(Self {
            task_index,
            info,
            queue_count,
            stats: [warmup?, measured?],
            seconds: Vec::new(),
            stretches: Stretches::default(),
            failures: FailureGroups::default(),
            kept_samples: 0,
            missing: MissingSamples::default(),
            scheduled: Some(0),
            begun: 0,
            warmup_begun: 0,
            unanswered: 0,
            unanswered_waited: 0,
            unsent: UnsentOperations::default(),
            warmup_backlog: WarmupBacklog::default(),
            delayed_latency: None,
            flights: Vec::new(),
            drained_window: None,
            underruns: 0,
            underrun_ns: 0,
            driver_time: DriverTime::default(),
            overhead: ClientOverhead::default(),
            client_spans: Vec::new(),
            other_traffic: Traffic::default(),
            completed_ns: None,
            ended_by: EndedBy::Source,
            current_second: RecentSecond::new()?,
            previous_second: RecentSecond::new()?,
        })
    }

    /// Adds the statistics of one worker for one second.
    pub fn add_second(&mut self, added: &SecondStats) {
        let SecondStats { second_index, sample_type, ref stats, .. } = *added;
        self.stats[sample_type.index()].merge(stats);
        let task_second = self.task_second(second_index);
        task_second.operations += stats.counts.ended;
        task_second.weight = task_second.weight.saturating_add(stats.counts.weight);
        task_second.window_weight = task_second.window_weight.saturating_add(stats.counts.window_weight);
        self.add_to_recent_seconds(second_index, stats);
    }

    /// Adds statistics to the latest second or to the one before it. A slow worker may deliver the second before the
    /// latest one last.
    fn add_to_recent_seconds(&mut self, second_index: u64, stats: &OperationStats) {
        let added = Some(second_index);
        if added > self.current_second.second_index {
            std::mem::swap(&mut self.current_second, &mut self.previous_second);
            self.current_second.restart(second_index);
        } else if added < self.current_second.second_index && added > self.previous_second.second_index {
            self.previous_second.restart(second_index);
        }
        for recent in [&mut self.current_second, &mut self.previous_second] {
            if recent.second_index == added {
                recent.stats.merge(stats);
            }
        }
    }

    /// Adds a second that all workers have delivered to the stretches, and sets its medians. If a second has both
    /// warm-up and measured operations, its medians are those of the more numerous kind.
    pub fn add_complete(&mut self, complete: &SecondStats) {
        self.stretches.add(complete);
        let median = |histogram: &DurationHistogram| {
            let count = histogram.count();
            (count > 0).then(|| ms(histogram.at_rank(rank(count, 0.5))))
        };
        let stats = &complete.stats;
        let timed = stats.service_time.count();
        let (service_ms, latency_ms) = (median(&stats.service_time), stats.latency.as_ref().and_then(median));
        let second = self.task_second(complete.second_index);
        if timed > second.timed {
            *second = TaskSecond { timed, service_ms, latency_ms, ..*second };
        }
    }

    fn task_second(&mut self, second_index: u64) -> &mut TaskSecond {
        let index = index_of(second_index);
        if index >= self.seconds.len() {
            self.seconds.resize_with(index + 1, TaskSecond::default);
        }
        &mut self.seconds[index]
    }

    /// Adds failures.
    pub fn add_failures(&mut self, failures: FailureGroups) {
        self.failures.merge(failures);
    }

    /// Counts samples that were sent to the file.
    pub fn add_kept(&mut self, samples: u64) {
        self.kept_samples += samples;
    }

    /// Counts samples that are not in the file.
    pub fn add_missing(&mut self, missing: MissingSamples) {
        self.missing.merge(missing);
    }

    /// Adds a description of how the clients of one worker ended the task.
    pub fn add_worker_end(&mut self, end: &WorkerTaskEnd) {
        self.raise_ended_by(end.ended_by);
        self.scheduled = self.scheduled.zip(end.scheduled).map(|(ours, theirs)| ours.saturating_add(theirs));
        self.begun += end.begun;
        self.warmup_begun += end.warmup_begun;
        self.unanswered += end.unanswered;
        self.unanswered_waited += end.unanswered_waited;
        self.unsent += end.unsent;
        self.warmup_backlog += end.warmup_backlog;
        self.drained_window =
            self.drained_window.into_iter().chain(end.drained_window).reduce(DrainedWindow::merge);
        self.underruns += end.underruns;
        self.underrun_ns += end.underrun_ns;
        self.driver_time.merge(end.driver_time);
        self.other_traffic += end.other_traffic;
        self.completed_ns = self.completed_ns.or(end.completed_ns);
    }

    /// Adds what the clients of one worker did besides the operations of the task.
    pub fn add_overhead(&mut self, overhead: ClientOverhead) {
        self.overhead += overhead;
    }

    /// Adds when the clients of one worker were in the task.
    pub fn add_spans(&mut self, spans: &[ClientSpan]) {
        self.client_spans.extend_from_slice(spans);
    }

    /// Adds the latency of measured operations of one worker that the warm-up delayed and that succeeded.
    pub fn add_warmup_delays(&mut self, latency: DurationHistogram) {
        match &mut self.delayed_latency {
            Some(known) => known.merge(&latency),
            none => *none = Some(latency),
        }
    }

    /// Adds the operations of one worker around the begin of the window.
    pub fn add_flights(&mut self, flights: FlightLog) {
        self.flights.push(flights);
    }

    /// Sets the reason why the task ended, unless a reason with a higher precedence is already set.
    pub fn raise_ended_by(&mut self, ended_by: EndedBy) {
        self.ended_by = self.ended_by.max(ended_by);
    }

    /// Sets the unit of the task's work.
    pub fn set_unit(&mut self, unit: String) {
        self.info.unit = unit;
    }

    /// Returns the counts of the task's operations, each from where it was counted.
    pub fn operation_accounting(&self) -> OperationAccounting {
        let counts = self.counts();
        OperationAccounting {
            scheduled: self.scheduled,
            begun: self.begun,
            unsent: self.unsent.total,
            succeeded: counts.ended - counts.failed,
            failed: counts.failed,
            unanswered: self.unanswered,
            timed: self.stats.iter().map(|stats| stats.service_time.count()).sum(),
        }
    }

    /// Returns the counts of the task's samples, including those of sub-operations.
    pub fn sample_counts(&self) -> SampleCounts {
        let MissingSamples { left_out, lost, details_lost, from_ns } = self.missing;
        let (kept, missing_from_s) = (self.kept_samples, from_ns.map(seconds));
        SampleCounts { kept, left_out, lost, details_lost, missing_from_s }
    }

    /// Returns the number of operations that have ended.
    pub fn ended_operations(&self) -> u64 {
        self.counts().ended
    }

    fn counts(&self) -> OperationCounts {
        let mut counts = self.stats[0].counts;
        counts.merge(&self.stats[1].counts);
        counts
    }

    /// Returns the start and end of the measured window, in nanoseconds since the task began.
    ///
    /// A task that ran for its planned time has exactly the planned window, without the drain of its warm-up. Any other
    /// window begins with the first measured request. If another task completed the step, it ends then; otherwise it
    /// ends with the last measured response. In both cases, the interval after the last operation of an even schedule was
    /// due belongs to it: n operations fill n intervals, not n - 1. In the same way, n documents fill the time that n
    /// documents take at the rate if the schedule follows from them.
    fn window_ns(&self) -> Range<u64> {
        if let (Some(warmup), Some(end)) = (self.info.warmup_ns, self.planned_end_ns()) {
            return self.drained_window.map_or(warmup, |window| window.begin_ns)..end;
        }
        let measured = &self.stats[SampleType::Measured.index()].counts;
        let last = self.completed_ns().unwrap_or(measured.last_done_ns);
        let first = measured.earliest_sent_ns.min(last);
        first..last.max(self.scheduled_end_ns(measured))
    }

    /// Returns when the measured operations of the window have had their time of an even schedule, or of one that follows
    /// from their documents, in nanoseconds since the task began; 0 for other schedules.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the time is positive, and one beyond 2^64 becomes the latest"
    )]
    fn scheduled_end_ns(&self, measured: &OperationCounts) -> u64 {
        let Some(last_due_ns) = measured.window_last_due_ns else { return 0 };
        if let Some(interval_ns) = self.info.document_interval_ns {
            let documents = measured.window_weight.saturating_add(measured.window_failed_weight);
            return measured.window_first_due_ns.saturating_add((documents as f64 * interval_ns) as u64);
        }
        self.info.interval_ns.map_or(0, |interval_ns| last_due_ns.saturating_add(interval_ns))
    }

    /// Returns the operations and the work to which the window refers: all that ended in a planned window, that of the
    /// measured operations that ended before another task completed the step, or that of all measured operations, which
    /// begin and end in any other window.
    fn window_counts(&self) -> WindowCounts {
        let measured = self.stats[SampleType::Measured.index()].counts;
        if self.planned_end_ns().is_some() {
            WindowCounts::within(&self.counts())
        } else if self.completed_ns().is_some() {
            WindowCounts::within(&measured)
        } else {
            let OperationCounts { ended, failed, weight, .. } = measured;
            WindowCounts { operations: ended, succeeded: ended - failed, weight }
        }
    }

    /// Returns the planned end of a task that ran for its planned time.
    fn planned_end_ns(&self) -> Option<u64> {
        self.info.end_ns.filter(|_| self.ended_by == EndedBy::Time)
    }

    /// Returns when another task completed the step, if that is why the task ended.
    fn completed_ns(&self) -> Option<u64> {
        let completed_ns = self.completed_ns.filter(|_| self.ended_by == EndedBy::CompletedBy)?;
        Some(self.info.end_ns.map_or(completed_ns, |end_ns| end_ns.min(completed_ns)))
    }

    /// Returns the work per second over the whole seconds of the window; a second that is only partly in the window
    /// counts only towards the mean.
    ///
    /// All four values are the mean if there is only one whole second, which has no spread, or if the whole seconds
    /// contain less than half of the work and do not represent the window: with a single operation of 1.7 s, the
    /// maximum would be 0. So they are if there are fewer operations than seconds, or most seconds have none: with
    /// operations of 2.5 s, the median would be 0, and the maximum more than twice the rate.
    fn throughput(&self) -> Option<Throughput> {
        let Range { start: begin, end } = self.window_ns();
        if end <= begin {
            return None;
        }
        let WindowCounts { weight, succeeded, .. } = self.window_counts();
        if weight == u64::MAX {
            // The work of the task exceeds what can be counted.
            return None;
        }
        let mean = weight as f64 / seconds(end - begin);
        let whole = begin.div_ceil(SECOND_NS)..end / SECOND_NS;
        let weight_in =
            |second: u64| self.seconds.get(index_of(second)).map_or(0, |second| second.window_weight);
        let mut rates: Vec<u64> = whole.map(weight_in).collect();
        rates.sort_unstable();
        let inside = rates.iter().copied().fold(0, u64::saturating_add);
        let idle = rates.partition_point(|rate| *rate == 0);
        let is_slow = succeeded < rates.len() as u64 || idle > rates.len() / 2;
        Some(match rates[..] {
            [min, .., max] if inside >= weight.div_ceil(2) && !is_slow => {
                let median = (rates[(rates.len() - 1) / 2] + rates[rates.len() / 2]) as f64 / 2.0;
                Throughput { min: min as f64, mean, median, max: max as f64 }
            }
            _ => Throughput { min: mean, mean, median: mean, max: mean },
        })
    }

    /// Returns the steadiness over the whole seconds of a window, on which the warm-up's backlog had an effect.
    fn steadiness(&self, window_ns: Range<u64>, backlog: &WarmupBacklogSummary) -> Steadiness {
        let window = index_of(window_ns.start.div_ceil(SECOND_NS))..index_of(window_ns.end / SECOND_NS);
        let steadiness = Steadiness::of(&self.seconds, window, self.info.paced);
        let WarmupBacklogSummary { until_s, gone, marked, .. } = *backlog;
        if marked { steadiness.with_backlog(until_s.filter(|_| gone)) } else { steadiness }
    }

    /// Returns the effect of the warm-up's backlog.
    fn warmup_backlog(&self) -> WarmupBacklogSummary {
        let measured = &self.stats[SampleType::Measured.index()];
        let span = MeasuredSpan {
            operations: measured.counts.ended,
            service_ns: sum_ns(&measured.service_time, measured.failed_service_time.as_ref()),
            clients: if self.info.open_loop { &[] } else { &self.client_spans },
        };
        let in_engine = EngineBacklog::find(&self.flights, span);
        let delayed_latency =
            in_engine.as_ref().and_then(|engine| engine.latency_with(self.delayed_latency.as_ref()));
        self.warmup_backlog.summary(BacklogContext {
            measured: measured.counts.ended,
            waited: measured.counts.waited,
            warmup: self.warmup_begun,
            clients: self.info.clients,
            open_loop: self.info.open_loop,
            is_timed: self.info.warmup_ns.is_some(),
            load: self.load(),
            latency: measured.latency.as_ref(),
            delayed_latency: delayed_latency.as_ref().or(self.delayed_latency.as_ref()),
            in_engine: in_engine.as_ref(),
            drained_window: self.drained_window,
            surplus: self.surplus(),
        })
    }

    /// Returns what the window did beyond its own schedule, because the warm-up had left it.
    fn surplus(&self) -> Surplus {
        if !self.info.paced || self.warmup_begun == 0 {
            return Surplus::default();
        }
        let measured = &self.stats[SampleType::Measured.index()];
        let (counts, done) = (&measured.counts, self.window_counts().operations);
        let Range { start, end } = self.window_ns();
        let window_ns = end.saturating_sub(start);
        let surplus = if self.planned_end_ns().is_some() {
            let begun = (counts.ended + self.unanswered_measured()).saturating_sub(counts.due_before_window);
            Surplus::of_counts(done, begun.saturating_add(self.unsent.measured()))
        } else {
            let schedule_ns = counts.due_span_ns(self.scheduled_end_ns(counts));
            Surplus::of_times(done, window_ns, schedule_ns)
        };
        let waited_ns = measured.latency.as_ref().map_or(0.0, DurationHistogram::total_ns);
        Surplus { open: waited_ns / window_ns.max(1) as f64, ..surplus }
    }

    /// Returns how many measured operations began and were not answered.
    fn unanswered_measured(&self) -> u64 {
        let measured = &self.stats[SampleType::Measured.index()].counts;
        self.begun.saturating_sub(self.warmup_begun + measured.ended)
    }

    /// Returns for how long clients were absent from the measured window, in nanoseconds, summed over them.
    fn absent_ns(&self, window: &Range<u64>) -> u64 {
        let is_planned = self.planned_end_ns().is_some() && self.info.warmup_ns.is_some();
        absent_ns(&self.client_spans, window, is_planned)
    }

    /// Returns the share of the window for which a client had a measured operation under way, on average: a runner in
    /// Python holds its client for longer than the service time, also between its requests. Operations that failed have
    /// service times only.
    fn load(&self) -> f64 {
        let measured = &self.stats[SampleType::Measured.index()];
        let processing = measured.processing_time.as_ref().unwrap_or(&measured.service_time);
        let busy_ns = sum_ns(processing, measured.failed_service_time.as_ref());
        let Range { start, end } = self.window_ns();
        let window_ns = end.saturating_sub(start).max(1) as f64;
        busy_ns / window_ns / f64::from(self.info.clients.max(1))
    }

    /// Returns the result of the task, which began `task_began_ns` after the race's first step.
    pub fn result(&self, task_began_ns: u64) -> TaskResult {
        let measured = &self.stats[SampleType::Measured.index()];
        let (counts, other) = (self.counts(), self.other_traffic);
        let Range { start: begin, end } = self.window_ns();
        let (window, warmup_backlog) = (self.window_counts(), self.warmup_backlog());
        let summary = |kind| DurationSummary::of(measured, &self.stretches, kind);
        TaskResult {
            task: self.info.name.clone(),
            operation: self.info.operation.clone(),
            operation_type: self.info.operation_type.clone(),
            task_index: self.task_index,
            unit: self.info.unit.clone(),
            clients: self.info.clients,
            started_s: seconds(task_began_ns),
            duration_s: seconds(counts.last_done_ns),
            window_s: seconds(end - begin),
            window_from_s: seconds(begin),
            paced: self.info.paced,
            open_loop: self.info.open_loop,
            queue_count: self.queue_count,
            throughput: self.throughput(),
            service_time: summary(Kind::ServiceTime),
            latency: summary(Kind::Latency),
            latency_with_failures: self.latency_with_failures(),
            processing_time: summary(Kind::ProcessingTime),
            lateness: summary(Kind::Lateness),
            failed_service_time: summary(Kind::FailedServiceTime),
            operation_totals: self.operation_totals(),
            window_operations: window.operations,
            window_succeeded: window.succeeded,
            reported_failures: measured.counts.reported,
            overload_failures: measured.counts.overloaded,
            work: WorkTotals {
                weight: counts.weight.min(MAX_WORK),
                failed_weight: counts.failed_weight.min(MAX_WORK),
            },
            bytes_out: counts.bytes_out + other.bytes_out,
            bytes_in: counts.bytes_in + other.bytes_in,
            content_out: counts.content_out + other.content_out,
            content_in: counts.content_in + other.content_in,
            error_rate: measured.counts.error_rate(),
            error_design_effect: self.stretches.effect_of_failures(),
            errors: self.failures.groups(),
            sub_operations: Vec::new(),
            ended_by: self.ended_by,
            underruns: self.underruns,
            underrun_s: seconds(self.underrun_ns),
            driver_time: self.driver_time.summary(),
            connecting_s: seconds(self.overhead.connecting_ns),
            absent_s: seconds(self.absent_ns(&(begin..end))),
            clean_ups: self.overhead.clean_ups.summary(),
            unsolicited: self.overhead.unsolicited,
            steady: self.steadiness(begin..end, &warmup_backlog),
            warmup_backlog,
            samples: self.sample_counts(),
        }
    }

    /// Returns the outcomes of all operations.
    fn operation_totals(&self) -> OperationTotals {
        let [warmup, measured] = &self.stats;
        let (counts, other) = (self.counts(), self.other_traffic);
        OperationTotals {
            begun: counts.ended + self.unanswered,
            succeeded: counts.ended - counts.failed,
            failed: counts.failed,
            unanswered: self.unanswered,
            unsent: self.unsent.total,
            waited: counts.waited + self.unanswered_waited,
            retried: counts.retries,
            warmup: warmup.counts.ended,
            measured: measured.counts.ended,
            requests: counts.requests + u64::from(other.requests),
            reconnects: counts.reconnects + u64::from(other.reconnects),
        }
    }

    /// Returns the percentiles of latency of the measured operations, with every one that failed, or was not answered
    /// or not sent, above all others.
    fn latency_with_failures(&self) -> Vec<CensoredPercentile> {
        let measured = &self.stats[SampleType::Measured.index()];
        let endless =
            (measured.counts.failed + self.unanswered_measured()).saturating_add(self.unsent.measured());
        let latency = measured.latency.as_ref();
        latency.map_or_else(Vec::new, |latency| CensoredPercentile::all(latency, endless))
    }

    /// Returns the progress of the task at `elapsed_ns` after its start.
    pub fn progress(&self, elapsed_ns: u64) -> TaskProgress {
        let counts = self.counts();
        let by_time = self.info.end_ns.map(|end| elapsed_ns as f64 / end.max(1) as f64);
        let by_count = self.info.planned_operations.map(|all| counts.ended as f64 / all.max(1) as f64);
        let by_documents = self
            .info
            .planned_documents
            .map(|all| counts.weight.saturating_add(counts.failed_weight) as f64 / all.max(1) as f64);
        let done_share = by_documents.or(by_count).or(by_time).map(|share| share.min(1.0));
        let RecentSecond { second_index, stats } = &self.previous_second;
        let recent =
            second_index.is_some_and(|index| index + 3 > elapsed_ns / SECOND_NS) && !stats.is_empty();
        let at = |times: &DurationHistogram, q| {
            (recent && times.count() > 0).then(|| ms(times.at_rank(rank(times.count(), q))))
        };
        let times = stats.latency.as_ref().unwrap_or(&stats.service_time);
        TaskProgress {
            task: self.info.name.clone(),
            unit: self.info.unit.clone(),
            warming_up: self.stats[SampleType::Measured.index()].is_empty()
                && !self.stats[SampleType::Warmup.index()].is_empty(),
            done_share,
            rate: if recent { stats.counts.weight as f64 } else { 0.0 },
            has_latency: self.info.paced,
            p50_ms: at(times, 0.5),
            p99_ms: at(times, 0.99),
            late_p99_ms: stats.lateness.as_ref().and_then(|lateness| at(lateness, 0.99)),
            ended: counts.ended,
            failed: counts.failed,
            eta_s: done_share
                .filter(|share| *share > 0.0)
                .map(|share| seconds(elapsed_ns) * (1.0 - share) / share),
        }
    }
}

/// Returns the sum of the durations of successes and failures, in nanoseconds.
fn sum_ns(succeeded: &DurationHistogram, failed: Option<&DurationHistogram>) -> f64 {
    succeeded.total_ns() + failed.map_or(0.0, DurationHistogram::total_ns)
}

/// Converts a second to an index.
fn index_of(second: u64) -> usize {
    usize::try_from(second).unwrap_or(usize::MAX)
}
