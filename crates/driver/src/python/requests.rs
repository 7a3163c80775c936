//! The thread that sends the requests of runners: connections per client and cluster, several at once if need be.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use pacenote_record::ErrorClass;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::cancel::Cancellation;
use crate::health::cpu::{CpuMeter, PeakLoad};
use crate::operation::outcome::Outcome;
use crate::operation::prepared::PreparedRequest;
use crate::python::Lane;
use crate::python::channel::Seat;
use crate::python::events::LaneEvent;
use crate::python::item::Item;
use crate::race_state::RaceState;
use crate::response::outcome::ReplyOutcome;
use crate::step::StepRun;
use crate::transport::pool::ConnectionPool;

/// What the thread is told.
#[derive(Debug)]
pub enum Command {
    /// Connect the clients of a step, then say so.
    Connect(Vec<Arc<Seat>>),
    /// The clocks of a step have started.
    Begin,
    /// All clients of a step have ended.
    End(Arc<StepRun>),
    /// Send something.
    Carry(Box<Errand>),
    /// End; what is under way is dropped.
    Quit,
}

/// Something to be sent.
#[derive(Debug)]
pub struct Errand {
    /// Names it in the answer.
    pub ticket: u64,
    /// The client whose operation it belongs to, and which of its operations.
    pub owner: Option<(Arc<Seat>, u32)>,
    /// Position of the cluster.
    pub cluster: usize,
    /// Position of the host in the cluster.
    pub host: usize,
    /// What.
    pub load: Load,
}

/// What is sent.
#[derive(Debug)]
pub enum Load {
    /// One request, not compressed yet.
    Request(Box<PreparedRequest<Vec<u8>>>),
    /// A whole operation.
    Operation(Item),
}

/// The client, cluster and host that connections are for.
type Purpose = (Option<(u32, u32)>, usize, usize);

/// What all errands share.
struct Wire {
    lane: Arc<Lane>,
    race: Arc<RaceState>,
    waker: Arc<Notify>,
    links: RefCell<BTreeMap<Purpose, Rc<ConnectionPool>>>,
}

/// Serves until told to quit. Tells when the thread was busiest.
pub async fn serve(
    lane: Arc<Lane>,
    race: Arc<RaceState>,
    mut commands: UnboundedReceiver<Command>,
) -> PeakLoad {
    let waker = race.bridge_waker();
    let wire = Rc::new(Wire { lane, race, waker, links: RefCell::default() });
    let (mut meter, mut usage) = (None::<CpuMeter>, PeakLoad::default());
    while let Some(command) = commands.recv().await {
        let wire = Rc::clone(&wire);
        match command {
            Command::Connect(seats) => {
                // Clients of earlier steps have no more requests; their connections would stay open until the end.
                wire.links.borrow_mut().retain(|(owner, ..), _| owner.is_none());
                drop(tokio::task::spawn_local(async move { wire.connect(seats).await }));
            }
            Command::Carry(errand) => {
                drop(tokio::task::spawn_local(async move { wire.carry(*errand).await }));
            }
            Command::Begin => meter = Some(CpuMeter::start()),
            Command::End(step) => {
                if let Some(meter) = meter.take() {
                    usage.add(&step.step().name, meter.read(0), &[], |_| String::new());
                }
            }
            Command::Quit => break,
        }
    }
    usage
}

impl Wire {
    /// Opens one connection for each client, before any clock starts. Whoever is not there will be missed by the first
    /// request.
    async fn connect(&self, seats: Vec<Arc<Seat>>) {
        let deadline = Instant::now() + self.lane.timeout();
        let mut opening = JoinSet::new();
        for seat in seats {
            let links = self.links((Some((seat.task, seat.client)), 0, self.lane.host_of(&seat, 0)));
            opening.spawn_local(async move { links.connect(deadline).await });
        }
        while opening.join_next().await.is_some() {}
        self.lane.connected();
    }

    async fn carry(&self, errand: Errand) {
        let Errand { ticket, owner, cluster, host, load } = errand;
        let purpose = (owner.as_ref().map(|(seat, _)| (seat.task, seat.client)), cluster, host);
        let links = self.links(purpose);
        let (outcome, event) = match load {
            Load::Request(prepared) => request(&links, ticket, *prepared).await,
            Load::Operation(item) => self.operation(&links, ticket, item).await,
        };
        if let Some((seat, turn)) = owner {
            seat.arrive(turn, outcome);
        }
        self.lane.post(event);
    }

    async fn operation(
        &self,
        links: &ConnectionPool,
        ticket: u64,
        mut item: Item,
    ) -> (Option<Outcome>, LaneEvent) {
        let outcome = match self.lane.step() {
            Some(step) => {
                let cancellation = Cancellation { step: &step, race: &self.race, waker: &self.waker };
                item.execute(links, &cancellation).await
            }
            None => None,
        };
        let json = report(outcome.as_ref(), &links.last_body().unwrap_or_default());
        (outcome, LaneEvent::Outcome { ticket, json })
    }

    fn links(&self, purpose: Purpose) -> Rc<ConnectionPool> {
        let mut links = self.links.borrow_mut();
        let made = links.entry(purpose).or_insert_with(|| Rc::new(self.lane.links(purpose.0, purpose.1)));
        Rc::clone(made)
    }
}

async fn request(
    links: &ConnectionPool,
    ticket: u64,
    mut prepared: PreparedRequest<Vec<u8>>,
) -> (Option<Outcome>, LaneEvent) {
    if let Err(error) = prepared.compress_in_slices().await {
        let kind = ErrorClass::Protocol.name();
        return (None, LaneEvent::Failed { ticket, kind, reason: error.to_string() });
    }
    let mut reply = None;
    let keep = |status, body: &[u8]| {
        reply = Some((status, body.to_vec()));
        ReplyOutcome::success(0, -1)
    };
    let mut link = links.acquire();
    let outcome = prepared.send(&mut link, keep).await;
    let event = if let Some((status, body)) = reply {
        LaneEvent::Reply { ticket, status, headers: link.headers(), body }
    } else {
        let reason = outcome.result.failures.first().map_or_else(String::new, |one| one.reason.clone());
        LaneEvent::Failed { ticket, kind: outcome.result.class.name(), reason }
    };
    links.release(link);
    (Some(outcome), event)
}

/// What became of an operation, as Python reads it.
#[derive(Serialize)]
struct Report<'a> {
    success: bool,
    weight: u64,
    status: u16,
    took_ms: i64,
    error: Option<Complaint<'a>>,
    /// The last reply as text.
    body: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
struct Complaint<'a> {
    class: &'a str,
    kind: &'a str,
    reason: &'a str,
    status: u16,
}

fn report(outcome: Option<&Outcome>, body: &[u8]) -> String {
    let cut_short = Complaint {
        class: ErrorClass::Condition.name(),
        kind: "",
        reason: "the race or its step ended while the operation waited",
        status: 0,
    };
    let said = match outcome {
        None => Report {
            success: false,
            weight: 0,
            status: 0,
            took_ms: -1,
            error: Some(cut_short),
            body: "".into(),
        },
        Some(outcome) => {
            let result = &outcome.result;
            let failure = result.failures.first();
            let error = (!result.is_success()).then(|| Complaint {
                class: result.class.name(),
                kind: failure.map_or("", |failure| &failure.kind),
                reason: failure.map_or("", |failure| &failure.reason),
                status: failure.map_or(outcome.status, |failure| failure.status),
            });
            Report {
                success: result.is_success(),
                weight: result.accepted,
                status: outcome.status,
                took_ms: result.took_ms,
                error,
                body: String::from_utf8_lossy(body),
            }
        }
    };
    // Strings and numbers can always be written.
    serde_json::to_string(&said).unwrap_or_default()
}
