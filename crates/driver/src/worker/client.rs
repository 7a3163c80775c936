//! The measured loop of one client.

use std::rc::Rc;
use std::time::{Duration, Instant};

use pacenote_plan::{OnError, PlannedTask};
use pacenote_record::{EndedBy, ErrorClass, Sample, SampleType};

use crate::cancel::{Desk, unless_stopped};
use crate::operation::outcome::{Outcome, SubOperation};
use crate::python::Hand;
use crate::response::outcome::ReplyOutcome;
use crate::schedule::limiter::Gate;
use crate::schedule::open_loop::{OpenLoop, Over};
use crate::schedule::pacer::Pacer;
use crate::schedule::timer::Alarm;
use crate::shared::nanos;
use crate::step::TaskRun;
use crate::transport::pool::Links;
use crate::worker::book::Book;
use crate::worker::source::Source;

/// Pause before the next operation when nobody listens at the other end, so that failures do not come by the million.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// One client's share of a task.
#[derive(Debug)]
pub struct Share {
    /// Position of the task in the plan.
    pub task: u32,
    /// Which of the task's clients this is.
    pub client: u32,
    /// When it begins with the task, nanoseconds since that began: only later than 0 while ramping up.
    pub start_ns: u64,
    /// When its operations are due, and when it ends.
    pub schedule: Schedule,
    /// What it sends.
    pub source: Source,
    /// Python's hand in it, if it has one.
    pub hand: Option<Hand>,
}

/// The schedule that a client works to.
#[derive(Debug)]
pub enum Schedule {
    /// Closed loop: its own.
    Own(Pacer, Gate),
    /// Open loop: that of the task's clients on its thread.
    Shared(Rc<OpenLoop>),
}

impl Schedule {
    /// Operations that it has handed out since it was asked last.
    pub fn planned(&self) -> u64 {
        match self {
            Self::Own(_, gate) => gate.admitted(),
            Self::Shared(open) => open.settle(),
        }
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
    /// Runs a share to its end; `late` when the client comes to it from another task.
    pub async fn drive(
        &mut self,
        share: &mut Share,
        run: &TaskRun,
        task: &PlannedTask,
        late: bool,
    ) -> EndedBy {
        let origin = run.origin();
        // It owes the task nothing from before it came.
        let late_ns = late.then(|| since(origin, Instant::now()));
        match (&mut share.schedule, late_ns) {
            (Schedule::Own(pacer, _), Some(now_ns)) => pacer.skip_to(now_ns),
            (Schedule::Own(..), None) => {}
            (Schedule::Shared(open), _) => open.begin(late_ns),
        }
        let mut free_ns = share.start_ns.max(late_ns.unwrap_or(0));
        if !self.wait_until(origin, share.start_ns).await {
            return self.stopped_by();
        }
        loop {
            if let Some(by) = self.desk.stopped() {
                return by;
            }
            let next = match &share.schedule {
                Schedule::Own(..) => self.next_of_own(share, origin, task).await,
                Schedule::Shared(open) => {
                    let open = Rc::clone(open);
                    self.next_of_all(&open, share, origin, task).await
                }
            };
            let Next { due_ns, begun, sample_type } = match next {
                Ok(next) => next,
                Err(by) => return by,
            };
            share.source.pack().await;
            if let Some(due_ns) = due_ns
                && !self.wait_until(origin, due_ns).await
            {
                self.book.recall(share.task);
                return self.stopped_by();
            }
            self.book.begin_operation(share.task);
            self.alarm.stir();
            let started = if due_ns.is_some() { Instant::now() } else { begun };
            let Some(outcome) = share.source.execute(self.links, &self.desk, sample_type).await else {
                return self.cut_short(share, origin, (task, due_ns));
            };
            self.alarm.stir();
            let ended = share.source.ended();
            let times = Times { origin, due_ns, free_ns, started, ended };
            free_ns = since(origin, outcome.free);
            let over = share.hand.is_some() && self.tell_python(share, run, task, &outcome);
            let class = outcome.result.class;
            self.after_failure(&outcome.result, task);
            self.note((share.task, share.client, sample_type), &times, outcome);
            if over {
                return EndedBy::Source;
            }
            if class.is_unreachable() && due_ns.is_none() {
                self.pause_after_refusal().await;
            }
        }
    }

    /// The next operation of the client's own schedule, prepared.
    async fn next_of_own(
        &mut self,
        share: &mut Share,
        origin: Instant,
        task: &PlannedTask,
    ) -> Result<Next, EndedBy> {
        let Schedule::Own(pacer, gate) = &mut share.schedule else { return Err(EndedBy::Source) };
        let scheduler = share.hand.as_ref().filter(|hand| hand.seat().is_scheduled());
        let due_ns = match scheduler {
            None => pacer.next_due_ns(),
            Some(hand) => match self.ask(hand, gate, origin).await? {
                Some(due_ns) => Some(due_ns),
                None => return Err(self.exhausted(share, origin, task)),
            },
        };
        let (begun, sample_type) = loop {
            let begun = Instant::now();
            let now_ns = since(origin, begun);
            match gate.admit(due_ns.unwrap_or(now_ns), now_ns) {
                Ok(sample_type) if !share.source.is_dry() => break (begun, sample_type),
                Ok(_) => gate.withdraw(),
                Err(by) => {
                    let end_ns = gate.end_ns().unwrap_or(0);
                    if due_ns.is_some_and(|due_ns| due_ns < end_ns) {
                        self.book.leave_unsent(share.task, 1 + pacer.due_before(end_ns));
                    }
                    return Err(by);
                }
            }
            let waited = self.await_supply(&share.source, origin, gate.end_ns()).await;
            self.note_underrun(share.task, &share.source, due_at(origin, due_ns).max(begun));
            waited?;
        };
        if share.source.prepare() {
            Ok(Next { due_ns, begun, sample_type })
        } else {
            gate.withdraw();
            Err(self.exhausted(share, origin, task))
        }
    }

    /// The operation that is due next in an open loop. It is prepared before it is known which one it is: a client whose
    /// source is exhausted must not take one away from the others.
    async fn next_of_all(
        &mut self,
        open: &OpenLoop,
        share: &mut Share,
        origin: Instant,
        task: &PlannedTask,
    ) -> Result<Next, EndedBy> {
        let begun = Instant::now();
        let mut now_ns = since(origin, begun);
        if share.source.is_dry() && open.over(now_ns).is_none() {
            let waited = self.await_supply(&share.source, origin, open.end_ns()).await;
            if let Some(due_ns) = open.next_due_ns() {
                self.note_underrun(share.task, &share.source, due_at(origin, Some(due_ns)).max(begun));
            }
            waited?;
            now_ns = since(origin, Instant::now());
        }
        if let Some(over) = open.over(now_ns) {
            return Err(self.leave(share.task, over));
        }
        if !share.source.prepare() {
            return Err(self.exhausted(share, origin, task));
        }
        let (due_ns, sample_type) = open.take(now_ns).map_err(|over| self.leave(share.task, over))?;
        Ok(Next { due_ns: Some(due_ns), begun, sample_type })
    }

    /// The end of an open loop.
    fn leave(&self, task: u32, over: Over) -> EndedBy {
        self.book.leave_unsent(task, over.unsent);
        over.by
    }

    /// Asks a scheduler in Python when the next operation is due; `None`: never. It is not asked for more operations
    /// than the task has.
    async fn ask(&self, hand: &Hand, gate: &Gate, origin: Instant) -> Result<Option<u64>, EndedBy> {
        let desk = self.desk;
        if let Some(by) = gate.closed(since(origin, Instant::now())) {
            return Err(by);
        }
        let answer = unless_stopped(hand.next_due_ns(), desk.waker, || desk.stopped().is_some()).await;
        let due_ns = answer.ok_or_else(|| self.stopped_by())?;
        // An offset of 0 means at once: nobody waits, so nobody is late.
        Ok(due_ns.map(|due_ns| if due_ns == 0 { since(origin, Instant::now()) } else { due_ns }))
    }

    /// Waits for a source in Python to hand over the next operation, or to end, or for the task's time to be over.
    async fn await_supply(
        &mut self,
        source: &Source,
        origin: Instant,
        end_ns: Option<u64>,
    ) -> Result<(), EndedBy> {
        let Source::Supplied(supplied) = source else { return Ok(()) };
        let desk = self.desk;
        let time_is_over = async {
            match end_ns {
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
        waited.ok_or_else(|| self.stopped_by())
    }

    /// Takes down how long an operation that was wanted at `needed` has waited for its source.
    fn note_underrun(&self, task: u32, source: &Source, needed: Instant) {
        let Source::Supplied(supplied) = source else { return };
        let late = Instant::now().saturating_duration_since(needed);
        // Who waits for nothing but the end of the source has missed no operation.
        if !late.is_zero() && (supplied.has_some() || supplied.is_dry()) {
            self.book.underrun(task, late);
        }
    }

    fn stopped_by(&self) -> EndedBy {
        self.desk.stopped().unwrap_or(EndedBy::Stopped)
    }

    /// Tells Python what became of an operation, and hears what its runner says; `true` when it was the last.
    fn tell_python(&self, share: &mut Share, run: &TaskRun, task: &PlannedTask, outcome: &Outcome) -> bool {
        if let Some(hand) = &share.hand {
            hand.tell(&outcome.result, &task.unit, since(run.origin(), outcome.done) as f64 / 1e9);
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
    fn cut_short(
        &self,
        share: &Share,
        origin: Instant,
        (task, due_ns): (&PlannedTask, Option<u64>),
    ) -> EndedBy {
        let python_is_over = share.hand.as_ref().is_some_and(|hand| hand.seat().is_over());
        if !(python_is_over && matches!(share.source, Source::Lane(_))) {
            return self.stopped_by();
        }
        self.book.withdraw_operation(share.task);
        if let (Schedule::Shared(open), Some(due_ns)) = (&share.schedule, due_ns) {
            open.give_back(due_ns);
        }
        self.exhausted(share, origin, task)
    }

    /// There is no further operation. If that is because something failed in Python, it is taken down as the failure of
    /// one.
    fn exhausted(&self, share: &Share, origin: Instant, task: &PlannedTask) -> EndedBy {
        let Some(reason) = share.hand.as_ref().and_then(Hand::failure) else { return EndedBy::Source };
        let result = ReplyOutcome::failure(ErrorClass::Plugin, 0, "", reason.to_owned());
        self.book.begin_failure(share.task);
        let outcome = Outcome { result, ..Outcome::nothing() };
        let (started, done) = (outcome.sent, outcome.done);
        let times = Times { origin, due_ns: None, free_ns: since(origin, done), started, ended: Some(done) };
        self.after_failure(&outcome.result, task);
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
        if !outcome.sub_operations.is_empty() {
            self.record_sub_operations(who, times.origin, std::mem::take(&mut outcome.sub_operations));
        }
        let (task, client, sample_type) = who;
        let sent_ns = since(times.origin, outcome.sent);
        let result = outcome.result;
        let success = result.is_success();
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
            weight: result.accepted,
            failed_weight: result.rejected,
            requests: outcome.traffic.requests,
            retries: outcome.retries,
            success,
            status: outcome.status,
            error_class: result.class,
            took_ms: result.took_ms,
            bytes_out: outcome.traffic.bytes_out,
            bytes_in: outcome.traffic.bytes_in,
            content_out: outcome.traffic.content_out,
            content_in: outcome.traffic.content_in,
            reconnects: outcome.traffic.reconnects,
        });
        for note in result.notes(since(times.origin, outcome.done)) {
            self.book.error(task, note);
        }
    }

    /// Takes the operations within an operation down. Its own sample says what work was done and how late it was.
    fn record_sub_operations(
        &self,
        who: (u32, u32, SampleType),
        origin: Instant,
        sub_operations: Vec<SubOperation>,
    ) {
        let (task, client, sample_type) = who;
        self.book.record_sub_operations(sub_operations, origin, |outcome| {
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
                success: outcome.result.is_success(),
                status: outcome.status,
                error_class: outcome.result.class,
                took_ms: outcome.result.took_ms,
                bytes_out: outcome.traffic.bytes_out,
                bytes_in: outcome.traffic.bytes_in,
                content_out: outcome.traffic.content_out,
                content_in: outcome.traffic.content_in,
                reconnects: outcome.traffic.reconnects,
            }
        });
    }

    /// What a failure does to the race.
    fn after_failure(&self, result: &ReplyOutcome, task: &PlannedTask) {
        let (class, shared) = (result.class, self.desk.shared);
        match self.desk.step.plan().driver.on_error {
            _ if result.is_success() => {}
            // The track says that the race is worth nothing without it.
            _ if class == ErrorClass::Assertion => {
                let reason = result.failures.first().map_or("", |failure| failure.reason.as_str());
                shared.abort(format!("task {}: {reason}", task.name));
            }
            OnError::Continue if class.is_unreachable() => {
                let reason = result.failures.first().map_or("", |failure| failure.reason.as_str());
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

/// An operation that is about to begin.
struct Next {
    /// `None`: at once.
    due_ns: Option<u64>,
    /// When the client turned to it.
    begun: Instant,
    sample_type: SampleType,
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

/// When an operation is due; what has no schedule was due ever since.
fn due_at(origin: Instant, due_ns: Option<u64>) -> Instant {
    origin + Duration::from_nanos(due_ns.unwrap_or(0))
}

fn since(origin: Instant, instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(origin))
}
