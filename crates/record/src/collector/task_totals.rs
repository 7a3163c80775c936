//! A task's totals over all threads, and what follows from them.

use pacenote_stats::{Steadiness, TaskSecond, rank};

use crate::buffers::Missing;
use crate::catalog::TaskInfo;
use crate::collector::accounting::Ledger;
use crate::delivery::TaskEnded;
use crate::error::RecordError;
use crate::failure::ErrorTally;
use crate::histogram::Latencies;
use crate::result::{
    Accounting, Distribution, EndedBy, SamplesKept, TaskProgress, TaskResult, Throughput, Work,
    error_summaries, ms, seconds,
};
use crate::sample::SampleType;
use crate::window::{Counts, Window};

/// Everything recorded of one task.
#[derive(Debug)]
pub struct Totals {
    info: TaskInfo,
    /// One per sample type, by its index.
    whole: [Window; 2],
    /// By second since the task began.
    seconds: Vec<TaskSecond>,
    errors: ErrorTally,
    kept: u64,
    missing: Missing,
    planned: Option<u64>,
    begun: u64,
    unanswered: u64,
    unsent: u64,
    underruns: u64,
    underrun_ns: u64,
    ended_by: EndedBy,
    /// The newest second, of which more may come.
    current: Window,
    /// The one before it, for rate and percentiles of the progress.
    complete: Window,
}

impl Totals {
    /// Nothing recorded yet.
    pub fn new(index: u32, info: TaskInfo) -> Result<Self, RecordError> {
        let [warmup, normal] = SampleType::ALL.map(|kind| Window::new(index, kind, info.paced));
        let second = || Window::new(index, SampleType::Normal, false);
        let (current, complete) = (second()?, second()?);
        Ok(Self {
            info,
            whole: [warmup?, normal?],
            seconds: Vec::new(),
            errors: ErrorTally::default(),
            kept: 0,
            missing: Missing::default(),
            planned: Some(0),
            begun: 0,
            unanswered: 0,
            unsent: 0,
            underruns: 0,
            underrun_ns: 0,
            ended_by: EndedBy::Source,
            current,
            complete,
        })
    }

    /// Adds a part of a second.
    pub fn add(&mut self, window: &Window) {
        self.whole[window.sample_type.index()].merge(window);
        let second = self.second(window.second);
        second.operations += window.counts.operations;
        second.work += window.counts.weight;
        second.window_work += window.counts.window_weight;
        if window.second > self.current.second || self.current.is_empty() {
            std::mem::swap(&mut self.current, &mut self.complete);
            self.current.clear();
            self.current.second = window.second;
        }
        for known in [&mut self.current, &mut self.complete] {
            if known.second == window.second {
                known.merge(window);
            }
        }
    }

    /// Takes down the medians of a second of which all threads have told. Of several, those of most operations stand.
    pub fn add_medians(&mut self, window: &Window) {
        let median = |latencies: &Latencies| {
            let count = latencies.count();
            (count > 0).then(|| ms(latencies.at_rank(rank(count, 0.5))))
        };
        let count = window.service.count();
        let (service_ms, latency_ms) = (median(&window.service), window.latency.as_ref().and_then(median));
        let second = self.second(window.second);
        if count > second.timed {
            *second = TaskSecond { timed: count, service_ms, latency_ms, ..*second };
        }
    }

    fn second(&mut self, second: u64) -> &mut TaskSecond {
        let place = place(second);
        if place >= self.seconds.len() {
            self.seconds.resize_with(place + 1, TaskSecond::default);
        }
        &mut self.seconds[place]
    }

    /// Adds failures.
    pub fn add_errors(&mut self, errors: ErrorTally) {
        self.errors.merge(errors);
    }

    /// Counts samples that are kept.
    pub fn add_kept(&mut self, samples: u64) {
        self.kept += samples;
    }

    /// Counts samples that are not.
    pub fn add_missing(&mut self, missing: Missing) {
        self.missing.add(missing);
    }

    /// Takes down that a thread's clients have ended the task.
    pub fn end(&mut self, end: &TaskEnded) {
        self.end_by(end.by);
        self.planned = self.planned.zip(end.planned).map(|(ours, theirs)| ours + theirs);
        self.begun += end.begun;
        self.unanswered += end.unanswered;
        self.unsent += end.unsent;
        self.underruns += end.underruns;
        self.underrun_ns += end.underrun_ns;
    }

    /// Takes down why the task ended; the weightiest reason stands.
    pub fn end_by(&mut self, by: EndedBy) {
        self.ended_by = self.ended_by.max(by);
    }

    /// Takes down the unit of the task's work.
    pub fn has_unit(&mut self, unit: String) {
        self.info.unit = unit;
    }

    /// Where its operations went, each figure from the place that counted it.
    pub fn ledger(&self) -> Ledger {
        let counts = self.counts();
        Ledger {
            planned: self.planned,
            sent: self.begun,
            unsent: self.unsent,
            succeeded: counts.operations - counts.errors,
            failed: counts.errors,
            unanswered: self.unanswered,
            timed: self.whole.iter().map(|window| window.service.count()).sum(),
        }
    }

    /// Where its samples went, those of operations within its operation included.
    pub fn samples(&self) -> SamplesKept {
        let Missing { left_out, lost, from_ns } = self.missing;
        SamplesKept { kept: self.kept, left_out, lost, from_s: from_ns.map(seconds) }
    }

    /// Operations that have ended.
    pub fn ended(&self) -> u64 {
        self.counts().operations
    }

    fn counts(&self) -> Counts {
        let mut counts = self.whole[0].counts;
        counts.merge(&self.whole[1].counts);
        counts
    }

    /// Where the measured window begins and ends, nanoseconds since the task began.
    ///
    /// A task that ran its time has exactly the planned window; any other ends with its last measured reply. Without a
    /// warm-up time the window begins with the first measured request. The interval after the last operation of an even
    /// schedule belongs to the window: n operations fill n intervals, not n - 1.
    fn window_ns(&self) -> (u64, u64) {
        let normal = &self.whole[SampleType::Normal.index()].counts;
        let last = normal.last_done_ns;
        match (self.info.warmup_ns, self.planned_end_ns()) {
            (Some(warmup), Some(end)) => (warmup, end),
            (Some(warmup), None) => (warmup, last.max(warmup)),
            (None, _) => {
                let first = normal.first_sent_ns.min(last);
                let scheduled = self.info.interval_ns.map_or(0, |interval| interval * normal.operations);
                (first, last.max(first + scheduled))
            }
        }
    }

    /// The planned end of a task that ran its time.
    fn planned_end_ns(&self) -> Option<u64> {
        self.info.end_ns.filter(|_| self.ended_by == EndedBy::Time)
    }

    /// Work by second inside the window; seconds that it only touches are in the mean alone.
    ///
    /// A single second has no spread, and seconds in which less than half of the work was done do not stand for the
    /// window: an operation of 1.7 s that is all of it would have a maximum of 0. The mean is then all that is known.
    fn throughput(&self) -> Option<Throughput> {
        let (begin, end) = self.window_ns();
        if end <= begin {
            return None;
        }
        let work = self.counts().window_weight;
        let mean = work as f64 / seconds(end - begin);
        let whole = begin.div_ceil(SECOND)..end / SECOND;
        let done = |second: u64| self.seconds.get(place(second)).map_or(0, |second| second.window_work);
        let mut rates: Vec<u64> = whole.map(done).collect();
        rates.sort_unstable();
        let inside: u64 = rates.iter().sum();
        Some(match rates[..] {
            [min, .., max] if inside >= work.div_ceil(2) => {
                let median = (rates[(rates.len() - 1) / 2] + rates[rates.len() / 2]) as f64 / 2.0;
                Throughput { min: min as f64, mean, median, max: max as f64 }
            }
            _ => Throughput { min: mean, mean, median: mean, max: mean },
        })
    }

    /// Judges the whole seconds of a window.
    fn steadiness(&self, (begin_ns, end_ns): (u64, u64)) -> Steadiness {
        let window = place(begin_ns.div_ceil(SECOND))..place(end_ns / SECOND);
        Steadiness::of(&self.seconds, window, self.info.paced)
    }

    /// What the task came to.
    pub fn result(&self, started_ns: u64) -> TaskResult {
        let [warmup, normal] = &self.whole;
        let counts = self.counts();
        let (begin, end) = self.window_ns();
        let measured = normal.counts.operations;
        TaskResult {
            task: self.info.task.clone(),
            operation: self.info.operation.clone(),
            operation_type: self.info.operation_type.clone(),
            index: normal.task,
            unit: self.info.unit.clone(),
            clients: self.info.clients,
            started_s: seconds(started_ns),
            duration_s: seconds(counts.last_done_ns),
            window_s: seconds(end - begin),
            paced: self.info.paced,
            open_loop: self.info.open_loop,
            throughput: self.throughput(),
            service_time: Distribution::of(&normal.service),
            latency: normal.latency.as_ref().and_then(Distribution::of),
            processing_time: normal.processing.as_ref().and_then(Distribution::of),
            lateness: normal.lateness.as_ref().and_then(Distribution::of),
            failed_service_time: normal.failed.as_ref().and_then(Distribution::of),
            accounting: Accounting {
                operations: counts.operations + self.unanswered,
                succeeded: counts.operations - counts.errors,
                failed: counts.errors,
                unanswered: self.unanswered,
                unsent: self.unsent,
                waited: counts.waited,
                retried: counts.retries,
                warmup: warmup.counts.operations,
                normal: measured,
                requests: counts.requests,
                reconnects: counts.reconnects,
            },
            work: Work { done: counts.weight, failed: counts.failed_weight },
            bytes_out: counts.bytes_out,
            bytes_in: counts.bytes_in,
            content_out: counts.content_out,
            content_in: counts.content_in,
            error_rate: if measured == 0 { 0.0 } else { normal.counts.errors as f64 / measured as f64 },
            errors: error_summaries(&self.errors),
            parts: Vec::new(),
            ended_by: self.ended_by,
            underruns: self.underruns,
            underrun_s: seconds(self.underrun_ns),
            steady: self.steadiness((begin, end)),
            samples: self.samples(),
        }
    }

    /// How the task is doing, `elapsed_ns` after it began.
    pub fn progress(&self, elapsed_ns: u64) -> TaskProgress {
        let counts = self.counts();
        let by_time = self.info.end_ns.map(|end| elapsed_ns as f64 / end.max(1) as f64);
        let by_count = self.info.operations.map(|all| counts.operations as f64 / all.max(1) as f64);
        let done_share = by_count.or(by_time).map(|share| share.min(1.0));
        let fresh = self.complete.second + 3 > elapsed_ns / SECOND && !self.complete.is_empty();
        let service = &self.complete.service;
        let at = |q| (fresh && service.count() > 0).then(|| ms(service.at_rank(rank(service.count(), q))));
        TaskProgress {
            task: self.info.task.clone(),
            unit: self.info.unit.clone(),
            warming_up: self.whole[SampleType::Normal.index()].is_empty() && !self.whole[0].is_empty(),
            done_share,
            rate: if fresh { self.complete.counts.weight as f64 } else { 0.0 },
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            operations: counts.operations,
            errors: counts.errors,
            eta_s: done_share
                .filter(|share| *share > 0.0)
                .map(|share| seconds(elapsed_ns) * (1.0 - share) / share),
        }
    }
}

const SECOND: u64 = 1_000_000_000;

/// A second as a place in memory.
fn place(second: u64) -> usize {
    usize::try_from(second).unwrap_or(usize::MAX)
}
