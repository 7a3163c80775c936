//! One client of a task that Python has a hand in.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use pacenote_plan::{PlannedTask, TaskPacing, TaskWork};
use pacenote_record::Traffic;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use tokio::sync::Notify;

use crate::operation::outcome::{Outcome, SubOperation};
use crate::python::answer::Done;
use crate::python::item::Item;
use crate::race_state::lock;

/// What Python said.
#[derive(Debug)]
pub enum Answer {
    /// The next operation is due so long after the task's beginning; `None`: there is none.
    Due(Option<Duration>),
    /// The operation has ended, and when.
    Done(Box<Done>, Instant),
    /// There are no more operations.
    Over,
}

/// Where the answer to the last question stands.
#[derive(Debug, Default)]
enum Slot {
    /// Nobody waits for one.
    #[default]
    Closed,
    /// It has not come.
    Open,
    /// It has come and was not heard.
    Said(Answer),
}

/// The requests of the operation that a runner carries out.
#[derive(Debug, Default)]
pub struct Trip {
    /// When the first of them was handed to the kernel.
    pub first_sent: Option<Instant>,
    /// When the last byte of the last reply had arrived.
    pub done: Option<Instant>,
    /// HTTP status of the last of them.
    pub status: u16,
    /// How many are under way.
    pub open: u32,
    /// What went over the wire for those that have ended.
    pub traffic: Traffic,
    /// Attempts after the first.
    pub retries: u32,
    /// The operations within those that the driver carried out.
    pub sub_operations: Vec<SubOperation>,
}

/// Python's end of a client's queue.
#[derive(Debug)]
struct Feed {
    ready: Producer<Item>,
    /// Operations that were carried out come back, to be freed by the thread that made them: freeing memory of another
    /// thread takes a lock of the allocator's.
    spent: Consumer<Item>,
}

/// The worker's end of it.
#[derive(Debug)]
pub struct Drain {
    /// What was handed over.
    pub ready: Consumer<Item>,
    /// The way back.
    pub spent: Producer<Item>,
}

/// See the module documentation. The worker of the client waits at it, Python's threads answer.
#[derive(Debug)]
pub struct Seat {
    /// Position of the task in the plan.
    pub task: u32,
    /// Which of its clients.
    pub client: u32,
    /// Row of the allocation matrix; decides which hosts it talks to.
    pub row: u32,
    /// Position among all seats; part of its tokens.
    number: u32,
    /// Operations that the source may be ahead; `None` when nothing is supplied.
    ahead: Option<usize>,
    /// A scheduler in Python says when its operations are due.
    scheduled: bool,
    /// A runner in Python carries its operations out.
    runs: bool,
    feed: Mutex<Option<Feed>>,
    drain: Mutex<Option<Drain>>,
    /// Python has no more operations for it, and why if something failed.
    over: OnceLock<Option<String>>,
    /// The driver wants no more.
    ended: AtomicBool,
    /// Counts what was asked, so that an answer that comes too late is known as such.
    turn: AtomicU32,
    answer: Mutex<Slot>,
    trip: Mutex<Trip>,
    bell: Notify,
}

impl Seat {
    /// A seat for client `client` of a task; `None` when Python has no hand in it.
    pub fn new(task: &PlannedTask, place: (u32, u32, u32), number: u32) -> Option<Self> {
        let scheduled = matches!(task.pace, TaskPacing::PythonScheduler {});
        let (ahead, runs) = match task.work {
            TaskWork::PythonSource { ahead } => (Some(ahead as usize), false),
            TaskWork::PythonRunner {} => (None, true),
            _ if scheduled => (None, false),
            _ => return None,
        };
        let (task, client, row) = place;
        Some(Self {
            task,
            client,
            row,
            number,
            ahead,
            scheduled,
            runs,
            feed: Mutex::default(),
            drain: Mutex::default(),
            over: OnceLock::new(),
            ended: AtomicBool::new(false),
            turn: AtomicU32::new(0),
            answer: Mutex::default(),
            trip: Mutex::default(),
            bell: Notify::new(),
        })
    }

    /// Whether a scheduler in Python says when its operations are due.
    pub fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Whether a runner in Python carries its operations out.
    pub fn is_run_by_python(&self) -> bool {
        self.runs
    }

    /// Makes the queue, if there is to be one.
    pub fn open(&self) {
        if let Some(ahead) = self.ahead {
            let (to, ready) = RingBuffer::new(ahead);
            let (back, spent) = RingBuffer::new(ahead);
            *lock(&self.feed) = Some(Feed { ready: to, spent });
            *lock(&self.drain) = Some(Drain { ready, spent: back });
        }
    }

    /// The worker's end of the queue; given away once.
    pub fn take_drain(&self) -> Option<Drain> {
        lock(&self.drain).take()
    }

    /// Gives the queue's memory back.
    pub fn close(&self) {
        self.ended.store(true, Ordering::Relaxed);
        *lock(&self.feed) = None;
        *lock(&self.drain) = None;
    }

    /// The driver wants nothing more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// How many operations fit into the queue now.
    pub fn room(&self) -> usize {
        let feed = lock(&self.feed);
        if self.ended.load(Ordering::Relaxed) {
            0
        } else {
            feed.as_ref().map_or(0, |feed| feed.ready.slots())
        }
    }

    /// Adds an operation; `false` when there is no room.
    pub fn push(&self, item: Item) -> bool {
        let pushed = match lock(&self.feed).as_mut() {
            Some(feed) if !self.ended.load(Ordering::Relaxed) => {
                while feed.spent.pop().is_ok() {}
                feed.ready.push(item)
            }
            _ => return false,
        };
        if let Err(PushError::Full(_)) = pushed {
            return false;
        }
        self.bell.notify_one();
        true
    }

    /// Python has no more operations; the first word stands.
    pub fn finish(&self, error: Option<String>) {
        let _ = self.over.set(error);
        self.bell.notify_one();
    }

    /// Whether Python has no more operations.
    pub fn is_over(&self) -> bool {
        self.over.get().is_some()
    }

    /// What failed, if something did.
    pub fn failure(&self) -> Option<&str> {
        self.over.get()?.as_deref()
    }

    /// The token of the next question. What is answered to an earlier one is not heard any more.
    pub fn ask(&self) -> u64 {
        let (mut answer, mut trip) = (lock(&self.answer), lock(&self.trip));
        (*answer, *trip) = (Slot::Open, Trip::default());
        let turn = self.turn.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        u64::from(self.number) << 32 | u64::from(turn)
    }

    fn turn(&self) -> u32 {
        self.turn.load(Ordering::Relaxed)
    }

    /// Takes an answer, if it is the first to the last question.
    pub fn reply(&self, turn: u32, said: Answer) {
        let mut answer = lock(&self.answer);
        if self.turn() == turn && matches!(*answer, Slot::Open) {
            *answer = Slot::Said(said);
            drop(answer);
            self.bell.notify_one();
        }
    }

    /// Waits for the answer to the last question.
    pub async fn hear(&self) -> Answer {
        loop {
            if let Some(answer) = self.heard() {
                return answer;
            }
            self.bell.notified().await;
        }
    }

    fn heard(&self) -> Option<Answer> {
        let mut answer = lock(&self.answer);
        if matches!(*answer, Slot::Open) && !self.is_over() {
            return None;
        }
        match std::mem::take(&mut *answer) {
            Slot::Said(said) => Some(said),
            Slot::Open | Slot::Closed => Some(Answer::Over),
        }
    }

    /// Waits until something was supplied or nothing will be.
    pub async fn arrival(&self, drain: &Consumer<Item>) {
        while drain.is_empty() && !self.is_over() {
            self.bell.notified().await;
        }
    }

    /// A request of the operation that is under way goes out; tells which operation that is.
    pub fn depart(&self) -> u32 {
        let mut trip = lock(&self.trip);
        trip.open += 1;
        self.turn()
    }

    /// A request of an operation has ended.
    pub fn arrive(&self, turn: u32, outcome: Option<Outcome>) {
        let mut trip = lock(&self.trip);
        if self.turn() != turn {
            return;
        }
        trip.open = trip.open.saturating_sub(1);
        let Some(outcome) = outcome else { return };
        trip.first_sent =
            Some(trip.first_sent.map_or(outcome.first_sent, |known| known.min(outcome.first_sent)));
        if trip.done.is_none_or(|known| outcome.done >= known) {
            trip.done = Some(outcome.done);
            trip.status = outcome.status;
        }
        trip.traffic += outcome.traffic;
        trip.retries += outcome.retries;
        trip.sub_operations.extend(outcome.sub_operations);
    }

    /// Takes the requests of the operation that was asked for last.
    pub fn take_trip(&self) -> Trip {
        std::mem::take(&mut *lock(&self.trip))
    }
}
