//! The way from recorders to the collector.

use std::sync::mpsc::Sender;

use crate::buffers::{Keep, Spare};
use crate::catalog::{PartInfo, Parts};
use crate::delivery::Delivery;

/// The way from recorders to the collector.
#[derive(Debug, Clone)]
pub struct Outgoing {
    sender: Sender<Delivery>,
    /// Where recorders get empty buffers.
    pub(crate) spare: Spare,
    parts: Parts,
}

impl Outgoing {
    /// A way that ends in the given channel; of samples it takes those that are to be kept.
    #[must_use]
    pub fn new(sender: Sender<Delivery>, keep: Keep) -> Self {
        Self { sender, spare: Spare::new(keep), parts: Parts::default() }
    }

    /// Where the collector gives buffers back.
    #[must_use]
    pub fn spare(&self) -> Spare {
        self.spare.clone()
    }

    /// Hands a delivery over. When nobody listens any more the race is over and there is nothing to record.
    pub fn send(&self, delivery: Delivery) {
        let _ = self.sender.send(delivery);
    }

    /// The number of an operation within an operation. The collector hears of it before anything is delivered under it.
    #[must_use]
    pub fn part(&self, part: &PartInfo) -> u32 {
        self.parts.number(part, |new| self.send(Delivery::Part(new)))
    }
}
