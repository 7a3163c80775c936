//! The measured loop of one client.

use std::time::{Duration, Instant};

use pacenote_plan::{OnError, Task};
use pacenote_record::{EndedBy, ErrorClass, Sample, SampleType};
use tokio::sync::Notify;

use crate::alarm::{Alarm, unless_stopped};
use crate::book::Book;
use crate::bound::Gate;
use crate::lane::Hand;
use crate::link::Links;
use crate::outcome::{Outcome, Part, Verdict};
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
    /// Python's hand in it, if it has one.
    pub hand: Option<Hand>,
}

impl Share {
    /// A scheduler in Python, if one says when operations are due.
    fn scheduler(&self) -> Option<&Hand> {
        self.hand.as_ref().filter(|hand| hand.seat().is_scheduled())
    }

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
            let due_ns = match share.scheduler() {
                None => share.pacer.next_due_ns(),
                Some(hand) => match self.ask(hand, &share.gate, origin).await {
                    Ok(Some(due_ns)) => Some(due_ns),
                    Ok(None) => return self.exhausted(share, origin, task),
                    Err(by) => return by,
                },
            };
            let (begun, sample_type) = loop {
                match self.admit(share, origin, due_ns) {
                    Err(by) => return by,
                    Ok(admitted) if !share.source.is_dry() => break admitted,
                    Ok(_) => share.gate.withdraw(),
                }
                if let Err(by) = self.await_supply(share, origin, due_ns).await {
                    return by;
                }
            };
            if !share.source.prepare(sample_type) {
                return self.exhausted(share, origin, task);
            }
            if let Some(due_ns) = due_ns
                && !self.wait_until(origin, due_ns).await
            {
                return self.desk.stopped().unwrap_or(EndedBy::Stopped);
            }
            self.book.begin_operation(share.task);
            let started = if due_ns.is_some() { Instant::now() } else { begun };
            let Some(outcome) = share.source.execute(self.links, &self.desk).await else {
                return self.cut_short(share, origin, task);
            };
            let ended = share.source.ended();
            let times = Times { origin, due_ns, free_ns, started, ended };
            free_ns = since(origin, outcome.free);
            let over = share.hand.is_some() && self.tell_python(share, run, task, &outcome);
            let class = outcome.verdict.class;
            self.after_failure(&outcome.verdict, task);
            self.note((share.task, share.client, sample_type), &times, outcome);
            if over {
                return EndedBy::Source;
            }
            if class == ErrorClass::Connect && due_ns.is_none() {
                self.pause_after_refusal().await;
            }
        }
    }

    fn admit(
        &self,
        share: &mut Share,
        origin: Instant,
        due_ns: Option<u64>,
    ) -> Result<(Instant, SampleType), EndedBy> {
        let begun = Instant::now();
        let now_ns = since(origin, begun);
        let admitted = share.gate.admit(due_ns.unwrap_or(now_ns), now_ns);
        if admitted.is_err() {
            self.book.leave_unsent(share.task, share.unsent(due_ns));
        }
        admitted.map(|sample_type| (begun, sample_type))
    }

    /// Asks a scheduler in Python when the next operation is due; `None`: never. It is not asked for more operations
    /// than the task has.
    async fn ask(&self, hand: &Hand, gate: &Gate, origin: Instant) -> Result<Option<u64>, EndedBy> {
        let desk = self.desk;
        if let Some(by) = gate.closed(since(origin, Instant::now())) {
            return Err(by);
        }
        let answer = unless_stopped(hand.next_due_ns(), desk.waker, || desk.stopped().is_some()).await;
        answer.ok_or_else(|| self.stopped_by())
    }

    /// Waits for a source in Python to hand over the next operation, or to end, or for the task's time to be over. What
    /// the operation waits beyond the time at which it was wanted is taken down.
    async fn await_supply(
        &mut self,
        share: &Share,
        origin: Instant,
        due_ns: Option<u64>,
    ) -> Result<(), EndedBy> {
        let Source::Supplied(supplied) = &share.source else { return Ok(()) };
        let (desk, now) = (self.desk, Instant::now());
        let needed = due_ns.map_or(now, |due_ns| now.max(origin + Duration::from_nanos(due_ns)));
        let time_is_over = async {
            match share.gate.end_ns() {
                Some(end_ns) => drop(self.wait_until(origin, end_ns).await),
                None => std::future::pending().await,
            }
        };
        let either = async {
            tokio::select! {
                biased;
                () = supplied.arrival() => {}
                () = time_is_over => {}
            }
        };
        let waited = unless_stopped(either, desk.waker, || desk.stopped().is_some()).await;
        let late = Instant::now().saturating_duration_since(needed);
        // Who waits for nothing but the end of the source has missed no operation.
        if !late.is_zero() && (supplied.has_some() || supplied.is_dry()) {
            self.book.underrun(share.task, late);
        }
        waited.ok_or_else(|| self.stopped_by())
    }

    fn stopped_by(&self) -> EndedBy {
        self.desk.stopped().unwrap_or(EndedBy::Stopped)
    }

    /// Tells Python what became of an operation, and hears what its runner says; `true` when it was the last.
    fn tell_python(&self, share: &mut Share, run: &TaskRun, task: &Task, outcome: &Outcome) -> bool {
        if let Some(hand) = &share.hand {
            hand.tell(&outcome.verdict, &task.unit, since(run.origin(), outcome.done) as f64 / 1e9);
        }
        let Source::Lane(lane) = &mut share.source else { return false };
        if let Some(unit) = lane.take_unit()
            && run.has_unit(&unit)
            && unit != task.unit
        {
            self.book.unit(share.task, unit);
        }
        lane.was_last()
    }

    /// An operation came to nothing: the race or the step has ended, or its runner had none to carry out.
    fn cut_short(&self, share: &Share, origin: Instant, task: &Task) -> EndedBy {
        let python_is_over = share.hand.as_ref().is_some_and(|hand| hand.seat().is_over());
        if !(python_is_over && matches!(share.source, Source::Lane(_))) {
            return self.stopped_by();
        }
        self.book.withdraw_operation(share.task);
        self.exhausted(share, origin, task)
    }

    /// There is no further operation. If that is because something failed in Python, it is taken down as the failure of
    /// one.
    fn exhausted(&self, share: &Share, origin: Instant, task: &Task) -> EndedBy {
        let Some(reason) = share.hand.as_ref().and_then(Hand::failure) else { return EndedBy::Source };
        self.book.begin_operation(share.task);
        let verdict = Verdict::failure(ErrorClass::Plugin, 0, "", reason.to_owned());
        let outcome = Outcome { verdict, ..Outcome::nothing() };
        let (started, done) = (outcome.sent, outcome.done);
        let times = Times { origin, due_ns: None, free_ns: since(origin, done), started, ended: Some(done) };
        self.after_failure(&outcome.verdict, task);
        self.note((share.task, share.client, SampleType::Normal), &times, outcome);
        EndedBy::Source
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

    fn note(&self, who: (u32, u32, SampleType), times: &Times, mut outcome: Outcome) {
        if !outcome.parts.is_empty() {
            self.note_parts(who, times.origin, std::mem::take(&mut outcome.parts));
        }
        let (task, client, sample_type) = who;
        let sent_ns = since(times.origin, outcome.sent);
        let verdict = outcome.verdict;
        let success = verdict.is_success();
        self.book.note(Sample {
            task,
            part: 0,
            client,
            sample_type,
            paced: times.due_ns.is_some(),
            due_ns: times.due_ns.unwrap_or(sent_ns),
            free_ns: times.free_ns,
            first_sent_ns: since(times.origin, outcome.first_sent),
            sent_ns,
            done_ns: since(times.origin, outcome.done),
            processing_ns: nanos(
                times.ended.unwrap_or_else(Instant::now).saturating_duration_since(times.started),
            ),
            weight: verdict.accepted,
            failed_weight: verdict.rejected,
            requests: outcome.traffic.requests,
            retries: outcome.retries,
            success,
            status: outcome.status,
            error_class: verdict.class,
            took_ms: verdict.took_ms,
            bytes_out: outcome.traffic.bytes_out,
            bytes_in: outcome.traffic.bytes_in,
            content_out: outcome.traffic.content_out,
            content_in: outcome.traffic.content_in,
            reconnects: outcome.traffic.reconnects,
        });
        for note in verdict.notes(since(times.origin, outcome.done)) {
            self.book.error(task, note);
        }
    }

    /// Takes the operations within an operation down. Its own sample says what work was done and how late it was.
    fn note_parts(&self, who: (u32, u32, SampleType), origin: Instant, parts: Vec<Part>) {
        let (task, client, sample_type) = who;
        self.book.note_parts(parts, origin, |outcome| {
            let (sent_ns, done_ns) = (since(origin, outcome.sent), since(origin, outcome.done));
            let first_sent_ns = since(origin, outcome.first_sent);
            Sample {
                task,
                part: 0,
                client,
                sample_type,
                paced: false,
                due_ns: sent_ns,
                free_ns: first_sent_ns,
                first_sent_ns,
                sent_ns,
                done_ns,
                processing_ns: done_ns.saturating_sub(first_sent_ns),
                weight: 0,
                failed_weight: 0,
                requests: outcome.traffic.requests,
                retries: outcome.retries,
                success: outcome.verdict.is_success(),
                status: outcome.status,
                error_class: outcome.verdict.class,
                took_ms: outcome.verdict.took_ms,
                bytes_out: outcome.traffic.bytes_out,
                bytes_in: outcome.traffic.bytes_in,
                content_out: outcome.traffic.content_out,
                content_in: outcome.traffic.content_in,
                reconnects: outcome.traffic.reconnects,
            }
        });
    }

    /// What a failure does to the race.
    fn after_failure(&self, verdict: &Verdict, task: &Task) {
        let (class, shared) = (verdict.class, self.desk.shared);
        match self.desk.step.plan().driver.on_error {
            _ if verdict.is_success() => {}
            // The track says that the race is worth nothing without it.
            _ if class == ErrorClass::Assertion => {
                let reason = verdict.failures.first().map_or("", |failure| failure.reason.as_str());
                shared.abort(format!("task {}: {reason}", task.name));
            }
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
    /// When it ended as a whole, if that is not now.
    ended: Option<Instant>,
}

fn since(origin: Instant, instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(origin))
}
