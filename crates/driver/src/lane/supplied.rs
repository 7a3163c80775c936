//! Operations that a parameter source in Python hands over while the race runs.

use std::sync::Arc;

use rtrb::Consumer;

use crate::drive::Desk;
use crate::lane::item::Item;
use crate::lane::seat::Seat;
use crate::link::Links;
use crate::outcome::Outcome;

/// The worker's end of a client's queue.
#[derive(Debug)]
pub struct SuppliedSource {
    seat: Arc<Seat>,
    drain: Consumer<Item>,
    item: Option<Item>,
}

impl SuppliedSource {
    /// The source of a seat whose queue is open.
    pub fn new(seat: &Arc<Seat>) -> Option<Self> {
        Some(Self { seat: Arc::clone(seat), drain: seat.take_drain()?, item: None })
    }

    /// Nothing was supplied, but something may come.
    pub fn is_dry(&self) -> bool {
        self.drain.is_empty() && !self.seat.is_over()
    }

    /// Whether an operation was handed over.
    pub fn has_some(&self) -> bool {
        !self.drain.is_empty()
    }

    /// Waits until it is not dry any more.
    pub async fn arrival(&self) {
        self.seat.arrival(&self.drain).await;
    }

    /// Takes the next operation. Returns `false` when there is none.
    pub fn prepare(&mut self) -> bool {
        self.item = self.drain.pop().ok();
        self.item.is_some()
    }

    /// Carries the operation out; `None` when the race or the step ended while it waited.
    pub async fn execute(&mut self, links: &Links, desk: &Desk<'_>) -> Option<Outcome> {
        self.item.as_mut()?.execute(links, desk).await
    }
}
