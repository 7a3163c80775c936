//! Adds up what a client does besides its operations: opening connections and cleaning up.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use pacenote_record::{ClientOverhead, ErrorClass};

use crate::transport::http::ExchangeError;
use crate::units::nanos_since;

/// The overhead of one client, shared by all its connections. A request that finds an open connection does not use it.
#[derive(Debug, Default)]
pub struct OverheadCounter {
    total: Cell<ClientOverhead>,
    /// Number of requests that wait for a connection.
    waiting: Cell<u32>,
    /// Since when there has always been such a request, if there is one.
    waiting_since: Cell<Option<Instant>>,
}

/// A request that waits for a connection until this is dropped.
#[derive(Debug)]
pub struct ConnectionWait {
    counter: Rc<OverheadCounter>,
}

impl OverheadCounter {
    /// Takes what was added since the last call.
    pub fn take(&self) -> ClientOverhead {
        self.total.take()
    }

    /// Adds a request that cleaned up.
    pub fn add_clean_up(&self, error_class: ErrorClass, duration_ns: u64) {
        self.add(|total| total.clean_ups.add_request(error_class, duration_ns));
    }

    /// Adds bytes that no request asked for, from a connection that has been closed.
    pub fn add_unsolicited(&self, bytes: u64) {
        self.add(|total| total.unsolicited.add_arrival(bytes));
    }

    /// Adds the bytes after a response, if the exchange failed because of them.
    pub fn add_trailing(&self, error: &ExchangeError) {
        if let ExchangeError::TrailingData { bytes } = error {
            self.add_unsolicited(*bytes);
        }
    }

    fn add(&self, add: impl FnOnce(&mut ClientOverhead)) {
        let mut total = self.total.get();
        add(&mut total);
        self.total.set(total);
    }
}

impl ConnectionWait {
    /// Begins the wait of a request. Waits of concurrent requests are counted once.
    pub fn begin(counter: &Rc<OverheadCounter>) -> Self {
        counter.waiting.set(counter.waiting.get() + 1);
        counter.waiting_since.set(counter.waiting_since.get().or_else(|| Some(Instant::now())));
        Self { counter: Rc::clone(counter) }
    }
}

impl Drop for ConnectionWait {
    fn drop(&mut self) {
        let OverheadCounter { waiting, waiting_since, .. } = &*self.counter;
        waiting.set(waiting.get() - 1);
        if waiting.get() == 0
            && let Some(since) = waiting_since.take()
        {
            let waited_ns = nanos_since(since, Instant::now());
            self.counter.add(|total| total.connecting_ns += waited_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::units::nanos;

    #[test]
    fn waits_of_concurrent_requests_are_counted_once() {
        let (counter, began) = (Rc::<OverheadCounter>::default(), Instant::now());
        let (first, second) = (ConnectionWait::begin(&counter), ConnectionWait::begin(&counter));
        std::thread::sleep(Duration::from_millis(2));
        drop(first);
        assert_eq!(counter.take(), ClientOverhead::default());
        std::thread::sleep(Duration::from_millis(2));
        drop(second);
        let most_ns = nanos(began.elapsed());
        let waited_ns = counter.take().connecting_ns;
        assert!((4_000_000..=most_ns).contains(&waited_ns), "{waited_ns} of {most_ns}");
        assert_eq!(counter.take(), ClientOverhead::default());
    }
}
