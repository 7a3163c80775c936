//! One thread: its clients, their connections, its recorder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use pacenote_plan::{Host, OnError, Plan, Slot};
use pacenote_record::{EndedBy, ErrorClass, ErrorNote, Outgoing, Recorder, Sample};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::alarm::Alarm;
use crate::bound::Gate;
use crate::drive::{Client, Desk, Share};
use crate::error::DriveError;
use crate::http::{Connection, ExchangeError, Head, Reply};
use crate::outcome::{Outcome, Verdict};
use crate::pacer::Pacer;
use crate::shared::{Shared, StopLevel, nanos};
use crate::source::{DataFiles, Site, Source};
use crate::step::{StepRun, TaskRun};

/// What the control thread tells a worker.
#[derive(Debug)]
pub enum Order {
    /// Connect clients, build sources; answer [`Report::Ready`].
    Prepare(Arc<StepRun>, Arc<DataFiles>),
    /// Begin; answer [`Report::Done`] when all clients have ended.
    Start,
    /// End the thread.
    Quit,
}

/// What a worker answers.
#[derive(Debug)]
pub enum Report {
    /// Everything is prepared, or cannot be.
    Ready(Result<(), DriveError>),
    /// All clients of the thread have ended the step.
    Done,
}

/// What a worker is made of.
#[derive(Debug)]
pub struct Worker {
    /// Which of how many.
    pub place: (usize, usize),
    /// The race.
    pub plan: Arc<Plan>,
    /// What all threads share.
    pub shared: Arc<Shared>,
    /// Orders come here.
    pub orders: UnboundedReceiver<Order>,
    /// Answers go here.
    pub reports: Sender<Report>,
    /// Recordings go here.
    pub outgoing: Outgoing,
}

/// A client with what it keeps from step to step.
#[derive(Debug)]
struct Seat {
    slot: Slot,
    link: Link,
    alarm: Alarm,
    shares: Vec<Share>,
}

impl Worker {
    /// Works until told to quit.
    pub async fn run(mut self) {
        let mut links = BTreeMap::new();
        while let Some(order) = self.orders.recv().await {
            let Order::Prepare(step, files) = order else { break };
            let book = Book::new(self.outgoing.clone(), Arc::clone(&self.shared));
            let seats = self.prepare(&step, &files, &book, &mut links).await;
            let (seats, answer) = match seats {
                Ok(seats) => (seats, Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
            let failed = answer.is_err();
            let _ = self.reports.send(Report::Ready(answer));
            if failed || !matches!(self.orders.recv().await, Some(Order::Start)) {
                break;
            }
            self.run_step(&step, book, seats, &mut links).await;
            let _ = self.reports.send(Report::Done);
        }
    }

    async fn prepare(
        &self,
        step: &Arc<StepRun>,
        files: &DataFiles,
        book: &Book,
        links: &mut BTreeMap<u32, Link>,
    ) -> Result<Vec<Seat>, DriveError> {
        let mut seats = Vec::new();
        for slot in step.slots_of(self.place.0, self.place.1) {
            let host = slot.client as usize % self.plan.target.hosts.len();
            let link =
                links.remove(&slot.client).unwrap_or_else(|| Link::new(self.plan.target.hosts[host].clone()));
            let alarm = Alarm::new().map_err(|source| DriveError::System { what: "a timer", source })?;
            let shares = self.shares(slot, Site { host, files }, book)?;
            seats.push(Seat { slot: slot.clone(), link, alarm, shares });
        }
        self.connect(seats).await
    }

    fn shares(&self, slot: &Slot, site: Site<'_>, book: &Book) -> Result<Vec<Share>, DriveError> {
        let share = |allocation: &pacenote_plan::Allocation| {
            let task = &self.plan.tasks[allocation.task as usize];
            let seed = self.plan.seed.wrapping_add(u64::from(allocation.task).wrapping_mul(0x9e37_79b9));
            let pacer = Pacer::new(task, allocation.client, seed);
            book.expect_client(allocation.task, !matches!(task.pace, pacenote_plan::Pace::Unpaced {}))?;
            Ok(Share {
                task: allocation.task,
                client: allocation.client,
                pacer,
                gate: Gate::new(task.bound),
                source: Source::new(&self.plan, task, allocation.client, site)?,
            })
        };
        slot.allocations.iter().map(share).collect()
    }

    /// Opens all connections at once, before any clock starts.
    async fn connect(&self, seats: Vec<Seat>) -> Result<Vec<Seat>, DriveError> {
        let patience = Duration::from_millis(self.plan.target.timeout_ms);
        let must = self.plan.driver.on_error != OnError::ContinueOnNetwork;
        let mut opening = JoinSet::new();
        for mut seat in seats {
            opening.spawn_local(async move {
                let result = seat.link.connect(patience).await;
                (seat, result)
            });
        }
        let mut ready = Vec::new();
        while let Some(joined) = opening.join_next().await {
            let (seat, result) = joined.map_err(|error| DriveError::ThreadDied(error.to_string()))?;
            match result {
                Err(source) if must => {
                    return Err(DriveError::Connect { host: seat.link.host_name(), source });
                }
                _ => ready.push(seat),
            }
        }
        ready.sort_by_key(|seat| seat.slot.client);
        Ok(ready)
    }

    async fn run_step(
        &self,
        step: &Arc<StepRun>,
        book: Book,
        seats: Vec<Seat>,
        links: &mut BTreeMap<u32, Link>,
    ) {
        let book = std::rc::Rc::new(book);
        let waker = self.shared.waker(self.place.0);
        let mut clients = JoinSet::new();
        for mut seat in seats {
            let (step, shared) = (Arc::clone(step), Arc::clone(&self.shared));
            let (book, waker) = (std::rc::Rc::clone(&book), Arc::clone(&waker));
            clients.spawn_local(async move {
                let desk = Desk { step: &step, shared: &shared, waker: &waker };
                work(&mut seat, &book, desk).await;
                (seat.slot.client, seat.link)
            });
        }
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            let woken = waker.notified();
            tokio::select! {
                biased;
                joined = clients.join_next() => match joined {
                    None => break,
                    Some(Ok((client, link))) => drop(links.insert(client, link)),
                    Some(Err(error)) => self.shared.abort(format!("a client of the driver died: {error}")),
                },
                _ = seconds.tick() => book.tick(),
                () = woken => {}
            }
            if self.shared.stop_level() == StopLevel::Abandon {
                break;
            }
        }
        // Clients still at work are dropped with their requests, which stay unanswered.
        drop(clients);
        book.close(step, &self.shared);
    }
}

/// A client's work in a step: its shares one after another.
async fn work(seat: &mut Seat, book: &Book, desk: Desk<'_>) {
    let mut over = None;
    for share in &mut seat.shares {
        let Some((run, task)) = desk.step.task(share.task) else { continue };
        let by = if let Some(by) = over {
            by
        } else {
            let mut client = Client { link: &mut seat.link, alarm: &mut seat.alarm, book, desk };
            client.drive(share, run, task).await
        };
        over = desk.stopped();
        desk.step.client_ended(run);
        book.end_client(run, by);
    }
}

/// A client's connection to its host.
#[derive(Debug)]
pub struct Link {
    host: Host,
    connection: Option<Connection>,
}

impl Link {
    fn new(host: Host) -> Self {
        Self { host, connection: None }
    }

    /// Host and port, for messages.
    pub fn host_name(&self) -> String {
        format!("{}:{}", self.host.host, self.host.port)
    }

    /// Makes sure that a request can be sent.
    async fn connect(&mut self, patience: Duration) -> std::io::Result<()> {
        if self.connection.as_ref().is_some_and(Connection::usable) {
            return Ok(());
        }
        self.connection = None;
        let opened = tokio::time::timeout(patience, Connection::open(&self.host)).await;
        self.connection = Some(opened.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??);
        Ok(())
    }

    /// Sends one request, on a new connection if the old one was closed meanwhile, and judges its reply after the
    /// clock has stopped. Nothing is sent twice.
    pub async fn call(
        &mut self,
        head: &mut Head,
        body: &[u8],
        timeout: Duration,
        judge: impl FnOnce(u16, &[u8]) -> Verdict,
    ) -> Outcome {
        let opened = self.connect(timeout).await;
        let sent = Instant::now();
        let Some(connection) = self.connection.as_mut().filter(|_| opened.is_ok()) else {
            return failed(sent, connect_failure(opened.err()), 0, 0);
        };
        let bytes_out = (head.for_body(body.len()).len() + body.len()) as u64;
        let exchanged = tokio::time::timeout(timeout, connection.exchange(head, body)).await;
        let done = Instant::now();
        let reply: Reply = match exchanged {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                self.connection = None;
                return Outcome { done, ..failed(sent, exchange_failure(&error), bytes_out, 1) };
            }
            Err(_) => {
                self.connection = None;
                let reason = format!("no complete reply within {} s", timeout.as_secs_f64());
                let verdict = Verdict::failure(ErrorClass::Timeout, 0, "", reason);
                return Outcome { done, ..failed(sent, verdict, bytes_out, 1) };
            }
        };
        let verdict = judge(reply.status, connection.body(&reply));
        let bytes_in = reply.bytes_in;
        Outcome { sent, done, verdict, status: reply.status, requests: 1, retries: 0, bytes_out, bytes_in }
    }
}

fn failed(sent: Instant, verdict: Verdict, bytes_out: u64, requests: u32) -> Outcome {
    Outcome { sent, done: Instant::now(), verdict, status: 0, requests, retries: 0, bytes_out, bytes_in: 0 }
}

fn connect_failure(error: Option<std::io::Error>) -> Verdict {
    let reason = error.map_or_else(|| "no connection".into(), |error| error.to_string());
    Verdict::failure(ErrorClass::Connect, 0, "", reason)
}

fn exchange_failure(error: &ExchangeError) -> Verdict {
    let class = match error {
        ExchangeError::Malformed(_) => ErrorClass::Protocol,
        _ => ErrorClass::Reset,
    };
    Verdict::failure(class, 0, "", error.to_string())
}

/// The recorder of a thread during a step, and the count of what was begun. Never shared between threads, so that
/// borrowing it costs nothing.
#[derive(Debug)]
pub struct Book {
    recorder: RefCell<Recorder>,
    open: RefCell<Vec<OpenTask>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct OpenTask {
    task: u32,
    clients: u32,
    begun: u64,
    noted: u64,
    by: EndedBy,
}

impl Book {
    fn new(outgoing: Outgoing, shared: Arc<Shared>) -> Self {
        Self { recorder: RefCell::new(Recorder::new(outgoing)), open: RefCell::default(), shared }
    }

    /// Makes room for one more client of a task.
    fn expect_client(&self, task: u32, paced: bool) -> Result<(), DriveError> {
        self.recorder.borrow_mut().begin(task, paced)?;
        let mut open = self.open.borrow_mut();
        match open.iter_mut().find(|open| open.task == task) {
            Some(open) => open.clients += 1,
            None => open.push(OpenTask { task, clients: 1, begun: 0, noted: 0, by: EndedBy::Source }),
        }
        Ok(())
    }

    /// Counts an operation that begins now.
    pub fn begin_operation(&self, task: u32) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == task) {
            open.begun += 1;
        }
    }

    /// Takes down an operation that has ended.
    pub fn note(&self, sample: Sample) {
        if let Some(open) = self.open.borrow_mut().iter_mut().find(|open| open.task == sample.task) {
            open.noted += 1;
        }
        self.recorder.borrow_mut().note(sample);
    }

    /// Takes down why an operation failed.
    pub fn error(&self, task: u32, note: ErrorNote) {
        self.recorder.borrow_mut().error(task, note);
    }

    fn tick(&self) {
        self.recorder.borrow_mut().tick();
    }

    /// One client has ended a task; the last one closes it.
    fn end_client(&self, run: &TaskRun, by: EndedBy) {
        let mut open = self.open.borrow_mut();
        let Some(position) = open.iter().position(|open| open.task == run.index) else { return };
        let entry = &mut open[position];
        entry.by = entry.by.max(by);
        entry.clients -= 1;
        if entry.clients == 0 {
            let entry = open.swap_remove(position);
            self.end_task(&entry, run, entry.by);
        }
    }

    /// Closes what clients that were dropped have left open.
    fn close(&self, step: &StepRun, shared: &Shared) {
        let by = if shared.aborted().is_some() { EndedBy::Aborted } else { EndedBy::Stopped };
        for entry in self.open.borrow_mut().drain(..) {
            if let Some((run, _)) = step.task(entry.task) {
                self.end_task(&entry, run, by);
            }
        }
    }

    fn end_task(&self, entry: &OpenTask, run: &TaskRun, by: EndedBy) {
        let started_ns = self.shared.elapsed_ns(run.origin());
        self.recorder.borrow_mut().end(entry.task, by, entry.begun - entry.noted, started_ns);
    }
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    nanos(Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0)))
}
