//! One thread: its clients, their connections, its recorder.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use pacenote_plan::{ClientAllocation, OnError, Plan};
use pacenote_record::Outgoing;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::cancel::{Desk, unless_stopped};
use crate::error::DriveError;
use crate::health::cpu::{Meter, Served, Usage};
use crate::operation::bulk::DataFiles;
use crate::python::Lane;
use crate::schedule::limiter::Gate;
use crate::schedule::open_loop::OpenLoop;
use crate::schedule::pacer::Pacer;
use crate::schedule::timer::{Alarm, Watch};
use crate::shared::{Shared, StopLevel};
use crate::step::StepRun;
use crate::transport::pool::Links;
use crate::transport::{DialError, Routes};
use crate::worker::book::Book;
use crate::worker::client::{Client, Schedule, Share};
use crate::worker::source::{Site, Source};

/// How often connections that nobody uses are looked at.
const LOOK_AFTER: Duration = Duration::from_millis(500);

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
    /// The ways to the plan's hosts.
    pub routes: Routes,
    /// Python's hand in the race, if the plan asks for one.
    pub lane: Option<Arc<Lane>>,
    /// What all threads share.
    pub shared: Arc<Shared>,
    /// Orders come here.
    pub orders: UnboundedReceiver<Order>,
    /// Answers go here.
    pub reports: Sender<Report>,
    /// Recordings go here.
    pub outgoing: Outgoing,
}

/// What the shares of a step are made with.
struct Making<'a> {
    files: &'a DataFiles,
    book: &'a Book,
    /// Schedules of open-loop tasks, by position of the task.
    open: BTreeMap<u32, Rc<OpenLoop>>,
}

/// A client with what it keeps from step to step.
#[derive(Debug)]
struct Seat {
    slot: ClientAllocation,
    links: Rc<Links>,
    alarm: Alarm,
    shares: Vec<Share>,
}

impl Worker {
    /// Works until told to quit. Tells what it used.
    pub async fn run(mut self) -> Usage {
        let mut kept = BTreeMap::new();
        let mut usage = Usage::default();
        while let Some(order) = self.orders.recv().await {
            let Order::Prepare(step, files) = order else { break };
            let book = Book::new(self.outgoing.clone(), Arc::clone(&self.shared));
            let watch = Rc::new(Watch::new(Duration::from_micros(self.plan.driver.spin_us.into())));
            let making = Making { files: &files, book: &book, open: self.open_loops(&step) };
            let seats = self.prepare(&step, &making, &watch, &mut kept).await;
            let (seats, answer) = match seats {
                Ok(seats) => (seats, Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
            let failed = answer.is_err();
            let _ = self.reports.send(Report::Ready(answer));
            if failed || !matches!(self.orders.recv().await, Some(Order::Start)) {
                break;
            }
            let meter = Meter::start();
            let served = self.run_step(&step, book, seats, &mut kept).await;
            usage.add(&step.step().name, meter.read(watch.idle_ns()), &served, |task| {
                self.plan.tasks[task as usize].name.clone()
            });
            let _ = self.reports.send(Report::Done);
        }
        usage
    }

    async fn prepare(
        &self,
        step: &Arc<StepRun>,
        making: &Making<'_>,
        watch: &Rc<Watch>,
        kept: &mut BTreeMap<u32, Rc<Links>>,
    ) -> Result<Vec<Seat>, DriveError> {
        let mut seats = Vec::new();
        for slot in step.clients_of(self.place.0, self.place.1) {
            let host = slot.client as usize % self.plan.target.hosts.len();
            let links = kept.remove(&slot.client);
            let links =
                links.unwrap_or_else(|| Rc::new(Links::of_client(&self.routes, slot.client as usize)));
            let alarm = Alarm::new(Rc::clone(watch));
            let shares = self.shares(slot, host, making)?;
            seats.push(Seat { slot: slot.clone(), links, alarm, shares });
        }
        self.connect(seats).await
    }

    /// The schedule of one client of a task.
    fn pacer(&self, task: u32, client: u32) -> Pacer {
        let seed = self.plan.seed.wrapping_add(u64::from(task).wrapping_mul(0x9e37_79b9));
        Pacer::new(&self.plan.tasks[task as usize], client, seed)
    }

    /// The schedules that clients of this thread share in a step.
    fn open_loops(&self, step: &StepRun) -> BTreeMap<u32, Rc<OpenLoop>> {
        let mut pacers: BTreeMap<u32, Vec<Pacer>> = BTreeMap::new();
        for share in step.clients_of(self.place.0, self.place.1).flat_map(|slot| &slot.allocations) {
            if self.plan.tasks[share.task as usize].open_loop {
                pacers.entry(share.task).or_default().push(self.pacer(share.task, share.client));
            }
        }
        let open =
            |(task, pacers)| (task, Rc::new(OpenLoop::new(self.plan.tasks[task as usize].bound, pacers)));
        pacers.into_iter().map(open).collect()
    }

    fn shares(
        &self,
        slot: &ClientAllocation,
        host: usize,
        making: &Making<'_>,
    ) -> Result<Vec<Share>, DriveError> {
        let share = |allocation: &pacenote_plan::TaskAllocation| {
            let (index, client) = (allocation.task, allocation.client);
            let task = &self.plan.tasks[index as usize];
            making.book.expect_client(index, task)?;
            let hand = self.lane.as_ref().and_then(|lane| lane.hand((index, client)));
            let site = Site { host, files: making.files, hand: hand.as_ref() };
            let source = Source::new(&self.plan, task, client, site)?;
            let schedule = match making.open.get(&index) {
                Some(open) => Schedule::Shared(Rc::clone(open)),
                None => Schedule::Own(self.pacer(index, client), Gate::new(task.bound, 1)),
            };
            let start_ns = Pacer::client_starts_ns(task, client);
            Ok(Share { task: index, client, start_ns, schedule, source, hand })
        };
        slot.allocations.iter().map(share).collect()
    }

    /// Opens all connections at once, before any clock starts.
    async fn connect(&self, seats: Vec<Seat>) -> Result<Vec<Seat>, DriveError> {
        let deadline = Instant::now() + Duration::from_millis(self.plan.target.timeout_ms);
        let must = self.plan.driver.on_error != OnError::ContinueOnNetwork;
        let mut opening = JoinSet::new();
        for seat in seats {
            opening.spawn_local(async move {
                let result = seat.links.connect(deadline).await;
                (seat, result)
            });
        }
        let mut ready = Vec::new();
        let waker = self.shared.waker(self.place.0);
        loop {
            let mut next = None;
            let stopped = || self.shared.stop_level() != StopLevel::Run;
            let opened = async { next = opening.join_next().await };
            // A race that is stopped while it connects has no use for the clients that are missing.
            if unless_stopped(opened, &waker, stopped).await.is_none() {
                break;
            }
            let Some(joined) = next else { break };
            let (seat, result) = joined.map_err(|error| DriveError::ThreadDied(error.to_string()))?;
            match result {
                Err(source) if must => {
                    return Err(DriveError::Connect { host: seat.links.host_name().to_owned(), source });
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
        kept: &mut BTreeMap<u32, Rc<Links>>,
    ) -> Vec<Served> {
        let book = Rc::new(book);
        let waker = self.shared.waker(self.place.0);
        let mut clients = JoinSet::new();
        let mut reopening = JoinSet::new();
        let links: Vec<Rc<Links>> = seats.iter().map(|seat| Rc::clone(&seat.links)).collect();
        for mut seat in seats {
            let (step, shared) = (Arc::clone(step), Arc::clone(&self.shared));
            let (book, waker) = (Rc::clone(&book), Arc::clone(&waker));
            clients.spawn_local(async move {
                let desk = Desk { step: &step, shared: &shared, waker: &waker };
                work(&mut seat, &book, desk).await;
                (seat.slot.client, seat.links)
            });
        }
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        let mut looks = tokio::time::interval(LOOK_AFTER);
        loop {
            let woken = waker.notified();
            tokio::select! {
                biased;
                joined = clients.join_next() => match joined {
                    None => break,
                    Some(Ok((client, links))) => drop(kept.insert(client, links)),
                    Some(Err(error)) => self.shared.abort(format!("a client of the driver died: {error}")),
                },
                _ = seconds.tick() => book.tick(),
                _ = looks.tick() => self.look_after(&links, step, &mut reopening),
                () = woken => {}
            }
            if self.shared.stop_level() == StopLevel::Abandon {
                break;
            }
        }
        // Clients still at work are dropped with their requests, which stay unanswered.
        drop(clients);
        book.close(step, &self.shared);
        book.served()
    }
}

impl Worker {
    /// An engine that dies while no request is under way closes connections and refuses new ones. Nothing is sent to find
    /// out: what was cut is opened again, as the next request would.
    fn look_after(&self, links: &[Rc<Links>], step: &Arc<StepRun>, reopening: &mut JoinSet<()>) {
        while reopening.try_join_next().is_some() {}
        if self.plan.driver.on_error == OnError::ContinueOnNetwork {
            return;
        }
        let deadline = Instant::now() + Duration::from_millis(self.plan.target.timeout_ms);
        for links in links.iter().filter(|links| links.is_cut_off()) {
            let (links, step, shared) = (Rc::clone(links), Arc::clone(step), Arc::clone(&self.shared));
            reopening.spawn_local(async move {
                let Err(error) = links.reopen(deadline).await else { return };
                if matches!(&error, DialError::Io(io) if io.kind() == std::io::ErrorKind::TimedOut) {
                    // Nobody refused; a request would wait as long, and say so.
                    return;
                }
                let (host, name) = (links.host_name(), &step.step().name);
                shared.abort(format!("{host} has closed its connections in step {name}: {error}"));
            });
        }
    }
}

/// A client's work in a step: its shares one after another.
async fn work(seat: &mut Seat, book: &Book, desk: Desk<'_>) {
    let mut over = None;
    for (place, share) in seat.shares.iter_mut().enumerate() {
        let Some((run, task)) = desk.step.task(share.task) else { continue };
        let by = if let Some(by) = over {
            by
        } else {
            let mut client = Client { links: &seat.links, alarm: &mut seat.alarm, book, desk };
            client.drive(share, run, task, place > 0).await
        };
        over = desk.stopped();
        if let Some(hand) = &share.hand {
            hand.end();
        }
        desk.step.client_ended(run);
        book.end_client(run, by, share.schedule.planned());
    }
}
