//! Operations that a parameter source in Python hands over while the race runs.

use std::sync::Arc;

use crate::cancel::Cancellation;
use crate::operation::outcome::Outcome;
use crate::python::channel::{Drain, Seat};
use crate::python::item::Item;
use crate::transport::pool::ConnectionPool;

/// The worker's end of a client's queue.
#[derive(Debug)]
pub struct SuppliedSource {
    seat: Arc<Seat>,
    drain: Drain,
    item: Option<Item>,
}

impl SuppliedSource {
    /// The source of a seat whose queue is open.
    pub fn new(seat: &Arc<Seat>) -> Option<Self> {
        Some(Self { seat: Arc::clone(seat), drain: seat.take_drain()?, item: None })
    }

    /// Nothing was supplied, but something may come.
    pub fn is_dry(&self) -> bool {
        self.drain.ready.is_empty() && !self.seat.is_over()
    }

    /// Whether an operation was handed over.
    pub fn has_some(&self) -> bool {
        !self.drain.ready.is_empty()
    }

    /// Waits until it is not dry any more.
    pub async fn arrival(&self) {
        self.seat.arrival(&self.drain.ready).await;
    }

    /// Takes the next operation. Returns `false` when there is none.
    pub fn prepare(&mut self) -> bool {
        if let Some(spent) = std::mem::replace(&mut self.item, self.drain.ready.pop().ok()) {
            // Without room on the way back it is freed here.
            let _ = self.drain.spent.push(spent);
        }
        self.item.is_some()
    }

    /// Carries the operation out; `None` when the race or the step ended while it waited.
    pub async fn execute(
        &mut self,
        links: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<Outcome> {
        self.item.as_mut()?.execute(links, cancellation).await
    }
}
