//! How many replies each wait of a thread for a core delays.
//!
//! A thread that waits for a core reads every reply late that has arrived by then. Most waits are short and delay one
//! reply or none, whereas a long one delays those of many clients; and a long reply arrives in many parts, each of which
//! may wait. A mean over waits hides both. Waits are therefore weighed by the replies that they delay, in a sample of the
//! periods between two sleeps of the thread: reading the kernel's counters for each of them would take too long.

use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::health::run_queue::RunQueueStats;

/// Number of sleeps between two sampled periods. A prime number, so that samples do not follow a rhythm of the clients.
const SLEEPS_BETWEEN_SAMPLES: u32 = 31;

/// Smallest number of sampled periods from which a weight is computed.
const MIN_SAMPLES: u64 = 50;

/// Replies and sampled waits of a thread since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplyWaits {
    /// Number of replies that the thread has read.
    pub replies: u64,
    /// Number of sampled periods.
    pub samples: u64,
    /// Total wait in the sampled periods, in nanoseconds.
    pub wait_ns: u64,
    /// The same waits, each multiplied by the number of replies that it delayed, in nanoseconds.
    pub weighed_wait_ns: u64,
}

/// The counters at the beginning of a sampled period.
#[derive(Debug, Clone, Copy)]
struct PeriodStart {
    wait_ns: u64,
    replies: u64,
    requests: u64,
}

/// The counters of one thread.
struct ThreadCounters {
    replies: Cell<u64>,
    requests: Cell<u64>,
    sleeps_left: Cell<u32>,
    period: Cell<Option<PeriodStart>>,
    samples: Cell<u64>,
    wait_ns: Cell<u64>,
    weighed_wait_ns: Cell<u64>,
    schedstat: OnceCell<Option<File>>,
}

thread_local! {
    static COUNTERS: ThreadCounters = const {
        ThreadCounters {
            replies: Cell::new(0),
            requests: Cell::new(0),
            sleeps_left: Cell::new(0),
            period: Cell::new(None),
            samples: Cell::new(0),
            wait_ns: Cell::new(0),
            weighed_wait_ns: Cell::new(0),
            schedstat: OnceCell::new(),
        }
    };
}

/// Counts an operation or request that the calling thread begins.
pub fn count_request() {
    COUNTERS.with(|counters| counters.requests.set(counters.requests.get() + 1));
}

/// Counts the end of an operation or request, with which the calling thread has read a reply.
pub fn count_reply() {
    COUNTERS.with(|counters| counters.replies.set(counters.replies.get() + 1));
}

/// Samples the period that ends because the calling thread is about to sleep.
pub fn before_sleep() {
    COUNTERS.with(|counters| match counters.sleeps_left.get() {
        0 => counters.sample(),
        left => counters.sleeps_left.set(left - 1),
    });
}

impl ThreadCounters {
    #[cold]
    fn sample(&self) {
        let Some(wait_ns) = self.read_wait_ns() else {
            self.sleeps_left.set(u32::MAX);
            return;
        };
        let (replies, requests) = (self.replies.get(), self.requests.get());
        let Some(start) = self.period.take() else {
            self.period.set(Some(PeriodStart { wait_ns, replies, requests }));
            return;
        };
        let waited_ns = wait_ns.saturating_sub(start.wait_ns);
        let weight = delayed_replies(replies - start.replies, requests - start.requests);
        self.samples.set(self.samples.get() + 1);
        self.wait_ns.set(self.wait_ns.get() + waited_ns);
        self.weighed_wait_ns.set(self.weighed_wait_ns.get() + waited_ns.saturating_mul(weight));
        self.sleeps_left.set(SLEEPS_BETWEEN_SAMPLES - 1);
    }

    /// Returns the kernel's counter, from a file that stays open.
    fn read_wait_ns(&self) -> Option<u64> {
        let file = self.schedstat.get_or_init(|| File::open("/proc/thread-self/schedstat").ok()).as_ref()?;
        let mut text = [0; 96];
        let length = file.read_at(&mut text, 0).ok()?;
        RunQueueStats::parse(std::str::from_utf8(&text[..length]).ok()?).map(|stats| stats.wait_ns)
    }
}

/// Returns how many replies the wait of a period delayed: those that ended in it; none if the thread only sent requests;
/// otherwise one, of which a part arrived.
fn delayed_replies(replies: u64, requests: u64) -> u64 {
    match (replies, requests) {
        (0, 0) => 1,
        (replies, _) => replies,
    }
}

impl ReplyWaits {
    /// Returns the values of the calling thread.
    pub fn read() -> Self {
        COUNTERS.with(|counters| Self {
            replies: counters.replies.get(),
            samples: counters.samples.get(),
            wait_ns: counters.wait_ns.get(),
            weighed_wait_ns: counters.weighed_wait_ns.get(),
        })
    }

    /// Returns the values since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            replies: self.replies - earlier.replies,
            samples: self.samples - earlier.samples,
            wait_ns: self.wait_ns - earlier.wait_ns,
            weighed_wait_ns: self.weighed_wait_ns - earlier.weighed_wait_ns,
        }
    }

    /// Returns the wait of a mean reply in nanoseconds, or `None` without replies. `queue` contains all waits of the
    /// thread in the same time. With too few samples, every wait counts for the mean number of replies per wait, or for
    /// one if that is less.
    pub fn mean_ns(self, queue: RunQueueStats) -> Option<f64> {
        if self.replies == 0 {
            return None;
        }
        let replies = self.replies as f64;
        let per_wait = if self.samples >= MIN_SAMPLES && self.wait_ns > 0 {
            self.weighed_wait_ns as f64 / self.wait_ns as f64
        } else {
            (replies / queue.runs.max(1) as f64).max(1.0)
        };
        Some(queue.wait_ns as f64 * per_wait / replies)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_wait_delays_the_replies_that_end_after_it_or_a_part_of_one() {
        let cases = [((0, 0), 1), ((0, 3), 0), ((1, 0), 1), ((16, 16), 16)];
        for ((replies, requests), delayed) in cases {
            assert_eq!(delayed_replies(replies, requests), delayed, "{replies} replies, {requests} requests");
        }
    }

    #[test]
    fn long_waits_that_delay_many_replies_count_for_all_of_them() {
        // In a second: 1,000 waits of 0.01 ms for one reply each, and 10 waits of 4 ms for 16 replies each.
        let all = ReplyWaits {
            replies: 1160,
            samples: 1010,
            wait_ns: 50 * MS,
            weighed_wait_ns: 10 * MS + 10 * 4 * 16 * MS,
        };
        let queue = RunQueueStats { wait_ns: 50 * MS, runs: 1010 };
        let mean = all.mean_ns(queue).unwrap();
        assert!((mean - 650.0 / 1160.0 * MS as f64).abs() < 1.0, "{mean}");
        // The mean over waits is a tenth of that.
        assert!(mean > 10.0 * 50.0 / 1010.0 * MS as f64);
    }

    #[test]
    fn a_reply_whose_parts_wait_twenty_times_waits_for_their_sum() {
        let queue = RunQueueStats { wait_ns: 1000 * MS, runs: 20_000 };
        let few = ReplyWaits { replies: 1000, ..ReplyWaits::default() };
        assert_eq!(few.mean_ns(queue), Some(MS as f64));
        let many = ReplyWaits { samples: 600, wait_ns: 30 * MS, weighed_wait_ns: 30 * MS, ..few };
        assert_eq!(many.mean_ns(queue), Some(MS as f64));
        // Without samples, a thread that reads several replies at a time delays each of them by a whole wait.
        let several = ReplyWaits { replies: 40_000, ..few };
        assert_eq!(several.mean_ns(queue), Some(0.05 * MS as f64));
        assert_eq!(ReplyWaits::default().mean_ns(queue), None);
    }

    #[test]
    fn the_periods_between_the_sleeps_of_a_runtime_are_sampled() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().on_thread_park(before_sleep).build().unwrap();
        let before = ReplyWaits::read();
        runtime.block_on(async {
            for _ in 0..40 * (SLEEPS_BETWEEN_SAMPLES + 1) {
                count_request();
                tokio::time::sleep(Duration::from_micros(1)).await;
                count_reply();
            }
        });
        let counted = ReplyWaits::read().since(before);
        assert_eq!(counted.replies, 40 * u64::from(SLEEPS_BETWEEN_SAMPLES + 1));
        if RunQueueStats::read().is_some() {
            assert!(counted.samples >= 35, "{counted:?}");
        }
    }
}
