//! Details of an operation: what its response or its runner reports besides the measurements, kept with its sample if
//! the track asks for it.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sample::Sample;

/// Maximum number of bytes of details that wait for the thread that writes them. Further details are dropped and counted.
pub const MAX_WAITING_BYTES: usize = 64 << 20;

/// What an operation reports, in the form in which it was received.
pub trait Details: Debug + Send {
    /// Returns the number of bytes that the details occupy.
    fn size(&self) -> usize;

    /// Returns the details as the text of a JSON object, or `None` if there are none. The thread that writes the samples
    /// calls this, so that reading a response delays no operation.
    fn to_json(&self) -> Option<String>;
}

/// Samples in the order in which their operations ended, with the details of some of them.
#[derive(Debug, Default)]
pub struct SampleBatch {
    /// The samples.
    pub samples: Vec<Sample>,
    /// Their details, in the same order; empty unless the track asks for details.
    pub details: Vec<SampleDetails>,
}

/// The details of a sample of a batch.
#[derive(Debug)]
pub struct SampleDetails {
    /// Position of the sample in the batch.
    pub position: usize,
    /// The details.
    pub details: ReservedDetails,
}

/// Details with a reservation of their memory, which ends when they are dropped.
#[derive(Debug)]
pub struct ReservedDetails {
    details: Box<dyn Details>,
    bytes: usize,
    waiting_bytes: Arc<AtomicUsize>,
}

impl ReservedDetails {
    /// Returns the details as text; see [`Details::to_json`].
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        self.details.to_json()
    }

    /// Returns the number of bytes that are reserved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for ReservedDetails {
    fn drop(&mut self) {
        self.waiting_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The memory of all details that wait to be written.
#[derive(Debug, Clone, Default)]
pub struct DetailsMemory {
    waiting_bytes: Arc<AtomicUsize>,
}

impl DetailsMemory {
    /// Reserves memory for details. Drops them and returns `None` if too many bytes are waiting.
    pub fn reserve(&self, details: Box<dyn Details>) -> Option<ReservedDetails> {
        let bytes = details.size();
        let reserved = ReservedDetails { details, bytes, waiting_bytes: Arc::clone(&self.waiting_bytes) };
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        (waiting <= MAX_WAITING_BYTES).then_some(reserved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Sized(usize);

    impl Details for Sized {
        fn size(&self) -> usize {
            self.0
        }

        fn to_json(&self) -> Option<String> {
            None
        }
    }

    #[test]
    fn the_bytes_that_wait_are_limited() {
        let memory = DetailsMemory::default();
        let reserve = |bytes| memory.reserve(Box::new(Sized(bytes)));
        let most = reserve(MAX_WAITING_BYTES - 1);
        assert!(most.is_some());
        assert!(reserve(2).is_none() && reserve(1).is_some());
        drop(most);
        assert!(reserve(MAX_WAITING_BYTES).is_some() && reserve(MAX_WAITING_BYTES + 1).is_none());
        assert_eq!(memory.waiting_bytes.load(Ordering::Relaxed), 0);
    }
}
