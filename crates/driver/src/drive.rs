//! The measured loop of one client.

use std::time::{Duration, Instant};

use pacenote_plan::{OnError, Task};
use pacenote_record::{EndedBy, ErrorClass, ErrorNote, Sample, SampleType};
use tokio::sync::Notify;

use crate::alarm::{Alarm, unless_stopped};
use crate::book::Book;
use crate::bound::Gate;
use crate::link::Links;
use crate::outcome::{Outcome, Verdict};
use crate::pacer::Pacer;
use crate::shared::{Shared, StopLevel, nanos};
use crate::source::Source;
use crate::step::{StepRun, TaskRun};

/// Pause before the next operation when nobody listens at the other end, so that failures do not come by the million.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// One client's share of a task.
#[derive(Debug)]
pub struct Share {
    /// Position of the task in the plan.
    pub task: u32,
    /// Which of the task's clients this is.
    pub client: u32,
    /// When its operations are due.
    pub pacer: Pacer,
    /// When it ends.
    pub gate: Gate,
    /// What it sends.
    pub source: Source,
}

impl Share {
    /// Operations of the schedule that were due within the task's time, from the one due now on, and are never sent.
    fn unsent(&self, due_ns: Option<u64>) -> u64 {
        match (due_ns, self.gate.end_ns()) {
            (Some(due), Some(end)) if due < end => 1 + self.pacer.due_before(end),
            _ => 0,
        }
    }
}

/// What a client looks at while it works.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    /// The step.
    pub step: &'a StepRun,
    /// The race.
    pub shared: &'a Shared,
    /// Wakes the client when it waits and something has changed.
    pub waker: &'a Notify,
}

impl Desk<'_> {
    /// Why no new operation may begin.
    pub fn stopped(&self) -> Option<EndedBy> {
        if self.shared.stop_level() != StopLevel::Run {
            let aborted = self.shared.aborted().is_some();
            return Some(if aborted { EndedBy::Aborted } else { EndedBy::Stopped });
        }
        self.step.is_completed().then_some(EndedBy::CompletedBy)
    }
}

/// A client at work on its share.
pub struct Client<'a> {
    /// Its connections.
    pub links: &'a Links,
    /// Rings when an operation is due.
    pub alarm: &'a mut Alarm,
    /// Where everything is written down.
    pub book: &'a Book,
    /// What it looks at.
    pub desk: Desk<'a>,
}

impl Client<'_> {
    /// Runs a share to its end.
    pub async fn drive(&mut self, share: &mut Share, run: &TaskRun, task: &Task) -> EndedBy {
        let origin = run.origin();
        // A client that comes late, from another task of its slot, owes this one nothing.
        let mut free_ns = since(origin, Instant::now());
        share.pacer.skip_to(free_ns);
        if !self.wait_until(origin, share.pacer.start_ns()).await {
            return self.desk.stopped().unwrap_or(EndedBy::Stopped);
        }
        loop {
            if let Some(by) = self.desk.stopped() {
                return by;
            }
            let begun = Instant::now();
            let due_ns = share.pacer.next_due_ns();
            let now_ns = since(origin, begun);
            let sample_type = match share.gate.admit(due_ns.unwrap_or(now_ns), now_ns) {
                Ok(sample_type) => sample_type,
                Err(by) => {
                    self.book.leave_unsent(share.task, share.unsent(due_ns));
                    return by;
                }
            };
            if !share.source.prepare() {
                return EndedBy::Source;
            }
            if let Some(due_ns) = due_ns
                && !self.wait_until(origin, due_ns).await
            {
                return self.desk.stopped().unwrap_or(EndedBy::Stopped);
            }
            self.book.begin_operation(share.task);
            let started = if due_ns.is_some() { Instant::now() } else { begun };
            let Some(outcome) = share.source.execute(self.links, &self.desk).await else {
                return self.desk.stopped().unwrap_or(EndedBy::Stopped);
            };
            let times = Times { origin, due_ns, free_ns, started };
            free_ns = since(origin, outcome.free);
            let class = outcome.verdict.class;
            self.after_failure(&outcome.verdict, task);
            self.note((share.task, share.client, sample_type), &times, outcome);
            if class == ErrorClass::Connect && due_ns.is_none() {
                self.pause_after_refusal().await;
            }
        }
    }

    /// Waits until so long after the task's beginning; `false` when there is nothing left to wait for.
    async fn wait_until(&mut self, origin: Instant, at_ns: u64) -> bool {
        let instant = origin + Duration::from_nanos(at_ns);
        if Instant::now() >= instant {
            return true;
        }
        let desk = self.desk;
        let rung = unless_stopped(self.alarm.until(instant), desk.waker, || desk.stopped().is_some()).await;
        if let Some(Err(error)) = &rung {
            // Without its timer the client would send too early, and call that its schedule.
            desk.shared.abort(format!("the system refused a timer: {error}"));
        }
        matches!(rung, Some(Ok(())))
    }

    fn note(&self, who: (u32, u32, SampleType), times: &Times, outcome: Outcome) {
        let (task, client, sample_type) = who;
        let sent_ns = since(times.origin, outcome.sent);
        let verdict = outcome.verdict;
        let success = verdict.is_success();
        self.book.note(Sample {
            task,
            client,
            sample_type,
            paced: times.due_ns.is_some(),
            due_ns: times.due_ns.unwrap_or(sent_ns),
            free_ns: times.free_ns,
            first_sent_ns: since(times.origin, outcome.first_sent),
            sent_ns,
            done_ns: since(times.origin, outcome.done),
            processing_ns: nanos(times.started.elapsed()),
            weight: verdict.accepted,
            failed_weight: verdict.rejected,
            requests: outcome.requests,
            retries: outcome.retries,
            success,
            status: outcome.status,
            error_class: verdict.class,
            took_ms: verdict.took_ms,
            bytes_out: outcome.bytes_out,
            bytes_in: outcome.bytes_in,
        });
        for failure in verdict.failures {
            let (status, kind, reason, count) = (failure.status, failure.kind, failure.reason, failure.count);
            let at_ns = since(times.origin, outcome.done);
            self.book.error(task, ErrorNote { class: verdict.class, status, kind, reason, count, at_ns });
        }
    }

    /// What a failure does to the race.
    fn after_failure(&self, verdict: &Verdict, task: &Task) {
        let (class, shared) = (verdict.class, self.desk.shared);
        match self.desk.step.plan().driver.on_error {
            _ if verdict.is_success() => {}
            OnError::Continue if class == ErrorClass::Connect => {
                let reason = verdict.failures.first().map_or("", |failure| failure.reason.as_str());
                let host = self.links.host_name();
                shared.abort(format!("{host} cannot be reached in task {}: {reason}", task.name));
            }
            OnError::Abort if !task.tolerates_errors => {
                shared.abort(format!("task {} failed ({})", task.name, class.name()));
            }
            _ => {}
        }
    }

    async fn pause_after_refusal(&self) {
        let (desk, wait) = (self.desk, tokio::time::sleep(AFTER_REFUSAL));
        unless_stopped(wait, desk.waker, || desk.stopped().is_some()).await;
    }
}

/// The times of one operation that its outcome does not know.
struct Times {
    origin: Instant,
    due_ns: Option<u64>,
    free_ns: u64,
    started: Instant,
}

fn since(origin: Instant, instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(origin))
}
