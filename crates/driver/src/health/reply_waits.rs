//! How much the waits of a thread for a core delay the replies that it reads.
//!
//! A thread that waits for a core reads every reply late that has arrived by then. Most waits are short and delay one
//! reply or none, whereas a long one delays those of many clients; and a long reply arrives in many parts, each of
//! which may wait. A mean over waits hides both. Waits are therefore weighted by the replies that they delay, in a
//! sample of the periods between two sleeps of the thread: reading the kernel's counters for each of them would take
//! too long.
//!
//! | a wait | delays at most |
//! | --- | --- |
//! | after a sleep, when a reply has woken the thread | the replies that are read in the period |
//! | during the work of a period, because another thread got the core | those of the period that were not read yet, or those that arrived meanwhile, which are read in the next period; the larger of the two periods counts |
//!
//! The computed wait is exact for one client, and close to the true one if waits are longer than service times: then
//! most replies arrive at the beginning of a wait. If they are shorter, replies arrive evenly, and it is up to twice
//! the true one. A wait in a period without replies, for example before a timer's request, delays none: that is
//! lateness, which is measured directly.

use std::cell::{Cell, OnceCell};
use std::fs::File;

use crate::health::run_queue::RunQueueStats;

/// Largest number of sleeps between two samples. The number is random, because load may follow a rhythm: with a
/// schedule, for example, every second period sends a request, and the others read its reply.
const MAX_SLEEPS_BETWEEN: u32 = 63;

/// Smallest number of sampled periods from which a weight is computed.
const MIN_SAMPLES: u64 = 50;

/// Replies and sampled waits of a thread since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplyWaits {
    /// Number of operations or requests that have ended.
    pub replies: u64,
    /// Number of arrivals; see [`count_arrival`].
    pub arrivals: u64,
    /// Number of sampled periods.
    pub samples: u64,
    /// Total wait in the sampled periods, in nanoseconds.
    pub wait_ns: u64,
    /// Total delay that these waits caused to replies, in nanoseconds. A `u64` could overflow.
    pub delay_ns: u128,
}

/// How far the sample of a period has got. Numbers of arrivals are those since the thread started.
#[derive(Debug, Clone, Copy)]
enum Sampling {
    /// The next sleep begins a sampled period.
    Next,
    /// The thread sleeps.
    Asleep { wait_ns: u64, arrivals: u64 },
    /// The thread has been woken.
    Awake { waking_ns: u64, wait_ns: u64, arrivals: u64 },
    /// The next period runs, whose replies have arrived during the sampled one.
    Ended { waking_ns: u64, working_ns: u64, period_arrivals: u64, arrivals: u64 },
}

/// A wait, and the number of replies that it delayed.
#[derive(Debug, Clone, Copy)]
struct WeightedWait {
    wait_ns: u64,
    replies: u64,
}

/// The counters of one thread.
struct ThreadCounters {
    work: Cell<u64>,
    replies: Cell<u64>,
    arrivals: Cell<u64>,
    /// Number of sleeps that have begun.
    period: Cell<u64>,
    /// Number of sleeps until the next sample; 0 while a period is sampled.
    sleeps_left: Cell<u32>,
    sampling: Cell<Sampling>,
    random: Cell<u32>,
    samples: Cell<u64>,
    wait_ns: Cell<u64>,
    delay_ns: Cell<u128>,
    schedstat: OnceCell<Option<File>>,
}

thread_local! {
    static COUNTERS: ThreadCounters = const { ThreadCounters::new() };
}

/// Counts an operation or request that the calling thread begins.
pub fn count_request() {
    COUNTERS.with(ThreadCounters::count_work);
}

/// Counts the end of an operation or request whose reply the calling thread has read.
pub fn count_reply() {
    COUNTERS.with(|counters| {
        counters.count_work();
        counters.replies.set(counters.replies.get() + 1);
    });
}

/// Counts bytes of a reply that the calling thread has read. Those of a reply in one period count as one arrival;
/// `last_period` is the period of the reply's last arrival, at first 0.
pub fn count_arrival(last_period: &mut u64) {
    COUNTERS.with(|counters| counters.count_arrival(last_period));
}

/// Returns a number that changes when the calling thread begins or ends a request, or reads a part of a reply.
pub fn work_count() -> u64 {
    COUNTERS.with(|counters| counters.work.get())
}

/// Must be called when the calling thread is about to sleep.
pub fn before_sleep() {
    COUNTERS.with(|counters| counters.before_sleep(|| counters.read_wait_ns()));
}

/// Must be called when the calling thread has been woken.
pub fn after_sleep() {
    COUNTERS.with(|counters| counters.after_sleep(|| counters.read_wait_ns()));
}

impl ThreadCounters {
    const fn new() -> Self {
        Self {
            work: Cell::new(0),
            replies: Cell::new(0),
            arrivals: Cell::new(0),
            period: Cell::new(0),
            sleeps_left: Cell::new(0),
            sampling: Cell::new(Sampling::Next),
            random: Cell::new(0x9e37_79b9),
            samples: Cell::new(0),
            wait_ns: Cell::new(0),
            delay_ns: Cell::new(0),
            schedstat: OnceCell::new(),
        }
    }

    fn count_work(&self) {
        self.work.set(self.work.get().wrapping_add(1));
    }

    fn count_arrival(&self, last_period: &mut u64) {
        self.count_work();
        // The first period is 1 here, so that it differs from the initial value.
        let period = self.period.get() + 1;
        if *last_period != period {
            *last_period = period;
            self.arrivals.set(self.arrivals.get() + 1);
        }
    }

    fn before_sleep(&self, read_wait_ns: impl FnOnce() -> Option<u64>) {
        self.period.set(self.period.get() + 1);
        match self.sleeps_left.get() {
            0 => self.advance(true, read_wait_ns),
            left => self.sleeps_left.set(left - 1),
        }
    }

    fn after_sleep(&self, read_wait_ns: impl FnOnce() -> Option<u64>) {
        if self.sleeps_left.get() == 0 {
            self.advance(false, read_wait_ns);
        }
    }

    /// Continues the sample at the beginning of a sleep, or at its end.
    #[cold]
    fn advance(&self, sleep_begins: bool, read_wait_ns: impl FnOnce() -> Option<u64>) {
        let arrivals = self.arrivals.get();
        let next = match self.sampling.get() {
            Sampling::Next if sleep_begins => {
                read_wait_ns().map(|wait_ns| Sampling::Asleep { wait_ns, arrivals })
            }
            Sampling::Asleep { wait_ns: before_ns, arrivals } if !sleep_begins => {
                read_wait_ns().map(|wait_ns| {
                    let waking_ns = wait_ns.saturating_sub(before_ns);
                    Sampling::Awake { waking_ns, wait_ns, arrivals }
                })
            }
            Sampling::Awake { waking_ns, wait_ns: before_ns, arrivals: before } if sleep_begins => {
                read_wait_ns().map(|wait_ns| {
                    let (working_ns, period_arrivals) =
                        (wait_ns.saturating_sub(before_ns), arrivals - before);
                    Sampling::Ended { waking_ns, working_ns, period_arrivals, arrivals }
                })
            }
            Sampling::Ended { waking_ns, working_ns, period_arrivals, arrivals: before } if sleep_begins => {
                let next_arrivals = arrivals - before;
                self.add_sample([
                    WeightedWait { wait_ns: waking_ns, replies: period_arrivals },
                    WeightedWait { wait_ns: working_ns, replies: period_arrivals.max(next_arrivals) },
                ]);
                self.sleeps_left.set(self.random_sleeps());
                Some(Sampling::Next)
            }
            unchanged => Some(unchanged),
        };
        if next.is_none() {
            // The kernel does not report waits (any more).
            self.sleeps_left.set(u32::MAX);
        }
        self.sampling.set(next.unwrap_or(Sampling::Next));
    }

    fn add_sample(&self, waits: [WeightedWait; 2]) {
        self.samples.set(self.samples.get() + 1);
        for WeightedWait { wait_ns, replies } in waits {
            self.wait_ns.set(self.wait_ns.get() + wait_ns);
            self.delay_ns.set(self.delay_ns.get() + u128::from(wait_ns) * u128::from(replies));
        }
    }

    /// Returns a number from 1 to the maximum, by Marsaglia's xorshift.
    fn random_sleeps(&self) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.set(random);
        1 + random % MAX_SLEEPS_BETWEEN
    }

    /// Returns the kernel's counter, from a file that stays open.
    fn read_wait_ns(&self) -> Option<u64> {
        let file = self.schedstat.get_or_init(|| File::open("/proc/thread-self/schedstat").ok()).as_ref()?;
        RunQueueStats::read_from(file).map(|stats| stats.wait_ns)
    }

    fn totals(&self) -> ReplyWaits {
        ReplyWaits {
            replies: self.replies.get(),
            arrivals: self.arrivals.get(),
            samples: self.samples.get(),
            wait_ns: self.wait_ns.get(),
            delay_ns: self.delay_ns.get(),
        }
    }
}

impl ReplyWaits {
    /// Returns the values of the calling thread.
    pub fn read() -> Self {
        COUNTERS.with(ThreadCounters::totals)
    }

    /// Returns the values since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            replies: self.replies - earlier.replies,
            arrivals: self.arrivals - earlier.arrivals,
            samples: self.samples - earlier.samples,
            wait_ns: self.wait_ns - earlier.wait_ns,
            delay_ns: self.delay_ns - earlier.delay_ns,
        }
    }

    /// Returns the wait of a mean reply in nanoseconds, or `None` without replies. `queue` contains all waits of the
    /// thread in the same time. With too few samples, every wait counts for the mean number of arrivals per wait, or
    /// for one if that is less.
    pub fn mean_ns(self, queue: RunQueueStats) -> Option<f64> {
        if self.replies == 0 {
            return None;
        }
        let per_wait = if self.samples >= MIN_SAMPLES && self.wait_ns > 0 {
            self.delay_ns as f64 / self.wait_ns as f64
        } else {
            (self.arrivals as f64 / queue.runs.max(1) as f64).max(1.0)
        };
        Some(queue.wait_ns as f64 * per_wait / self.replies as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// A thread that reads replies, on a clock that only it advances. It knows how long each reply has waited for it.
    struct SimulatedThread {
        counters: ThreadCounters,
        now_ns: u64,
        waited_ns: u64,
        runs: u64,
        /// Total wait of all replies.
        delayed_ns: u64,
        random: u64,
    }

    /// A part of a reply: when it arrives, and the total wait of the thread until then.
    #[derive(Clone, Copy)]
    struct Part {
        at_ns: u64,
        waited_before_ns: Option<u64>,
        /// Number of parts of the same reply that follow, each as long after the previous one was read.
        more: u32,
        /// Whether it is the due time of a request instead.
        is_due: bool,
    }

    impl Part {
        fn at(at_ns: u64) -> Self {
            Self { at_ns, waited_before_ns: None, more: 0, is_due: false }
        }
    }

    impl SimulatedThread {
        fn new() -> Self {
            Self {
                counters: ThreadCounters::new(),
                now_ns: 0,
                waited_ns: 0,
                runs: 0,
                delayed_ns: 0,
                random: 7,
            }
        }

        /// Returns a random number below `end`.
        fn random(&mut self, end: u64) -> u64 {
            self.random =
                self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 33) % end
        }

        /// Reads a part that has arrived.
        fn read(&mut self, part: Part) {
            if !part.is_due {
                self.delayed_ns += self.waited_ns - part.waited_before_ns.unwrap();
                self.counters.count_arrival(&mut 0);
                self.counters.replies.set(self.counters.replies.get() + u64::from(part.more == 0));
            }
        }

        /// Waits for a core. Replies that arrive meanwhile have waited from then on.
        fn wait(&mut self, length_ns: u64, parts: &mut [Part]) {
            self.arrive(parts, self.waited_ns);
            for part in parts.iter_mut().filter(|part| part.waited_before_ns.is_none()) {
                if part.at_ns <= self.now_ns + length_ns {
                    part.waited_before_ns = Some(self.waited_ns + part.at_ns - self.now_ns);
                }
            }
            self.now_ns += length_ns;
            self.waited_ns += length_ns;
            self.runs += 1;
        }

        fn arrive(&self, parts: &mut [Part], waited_ns: u64) {
            let now_ns = self.now_ns;
            for part in
                parts.iter_mut().filter(|part| part.waited_before_ns.is_none() && part.at_ns <= now_ns)
            {
                part.waited_before_ns = Some(waited_ns);
            }
        }

        /// Runs `periods` periods. `wake_ns` and `preempt_ns` return the waits after a sleep, and before a part is
        /// read; `next` returns what follows a part that has been read.
        fn run(
            &mut self,
            periods: u32,
            mut parts: Vec<Part>,
            waits: [fn(&mut Self) -> u64; 2],
            next: fn(&mut Self, Part) -> Part,
        ) {
            for _ in 0..periods {
                let waited_ns = self.waited_ns;
                self.counters.before_sleep(|| Some(waited_ns));
                self.arrive(&mut parts, self.waited_ns);
                let first_ns = parts.iter().map(|part| part.at_ns).min().unwrap();
                if first_ns > self.now_ns {
                    self.now_ns = first_ns;
                    let wake_ns = waits[0](self);
                    self.wait(wake_ns, &mut parts);
                }
                self.arrive(&mut parts, self.waited_ns);
                let waited_ns = self.waited_ns;
                self.counters.after_sleep(|| Some(waited_ns));
                // What arrives from now on is read in the next period.
                let ready: Vec<usize> =
                    (0..parts.len()).filter(|index| parts[*index].waited_before_ns.is_some()).collect();
                for index in ready {
                    self.now_ns += 5 * US;
                    let preempt_ns = waits[1](self);
                    self.wait(preempt_ns, &mut parts);
                    let part = parts[index];
                    self.read(part);
                    parts[index] = next(self, part);
                }
                self.arrive(&mut parts, self.waited_ns);
            }
        }

        /// Returns the computed wait of a mean reply in relation to the true one.
        fn computed_share(&self) -> f64 {
            let totals = self.counters.totals();
            let queue = RunQueueStats { wait_ns: self.waited_ns, runs: self.runs };
            assert!(totals.samples > MIN_SAMPLES, "{totals:?}");
            totals.mean_ns(queue).unwrap() / (self.delayed_ns as f64 / totals.replies as f64)
        }
    }

    fn clients(count: u64) -> Vec<Part> {
        (0..count).map(|client| Part::at(MS + client * 30 * US)).collect()
    }

    fn slow_reply(thread: &mut SimulatedThread, _: Part) -> Part {
        Part::at(thread.now_ns + 10 * MS + thread.random(10 * MS))
    }

    fn fast_reply(thread: &mut SimulatedThread, _: Part) -> Part {
        Part::at(thread.now_ns + 200 * US + thread.random(200 * US))
    }

    /// Mostly short waits, and some of 4 ms.
    fn sometimes_long(thread: &mut SimulatedThread) -> u64 {
        if thread.random(10) == 0 { 4 * MS } else { 10 * US }
    }

    fn rarely_long(thread: &mut SimulatedThread) -> u64 {
        if thread.random(100) == 0 { 4 * MS } else { 0 }
    }

    fn never(_: &mut SimulatedThread) -> u64 {
        0
    }

    #[test]
    fn the_wait_of_one_client_is_that_of_its_replies() {
        for next in [slow_reply, fast_reply] {
            let mut thread = SimulatedThread::new();
            thread.run(20_000, clients(1), [sometimes_long, never], next);
            assert!((thread.computed_share() - 1.0).abs() < 0.01, "{}", thread.computed_share());
        }
    }

    #[test]
    fn waits_after_a_sleep_delay_the_replies_of_all_clients_that_arrived() {
        let mut thread = SimulatedThread::new();
        thread.run(20_000, clients(64), [sometimes_long, never], fast_reply);
        assert!((0.9..1.15).contains(&thread.computed_share()), "{}", thread.computed_share());
        let mut thread = SimulatedThread::new();
        thread.run(20_000, clients(64), [sometimes_long, never], slow_reply);
        assert!((1.0..2.0).contains(&thread.computed_share()), "{}", thread.computed_share());
    }

    #[test]
    fn waits_during_work_delay_replies_that_are_read_in_the_next_period() {
        let mut thread = SimulatedThread::new();
        thread.run(20_000, clients(64), [never, rarely_long], fast_reply);
        assert!((0.8..1.3).contains(&thread.computed_share()), "{}", thread.computed_share());
        let mut thread = SimulatedThread::new();
        thread.run(20_000, clients(64), [never, rarely_long], slow_reply);
        assert!((0.9..2.0).contains(&thread.computed_share()), "{}", thread.computed_share());
    }

    #[test]
    fn a_reply_in_many_parts_waits_for_each_of_them() {
        for clients in [clients(1), clients(2), clients(8)] {
            let mut thread = SimulatedThread::new();
            let next = |thread: &mut SimulatedThread, part: Part| {
                let more = if part.more == 0 { 19 } else { part.more - 1 };
                Part { more, ..Part::at(thread.now_ns + 100 * US) }
            };
            thread.run(20_000, clients, [sometimes_long, never], next);
            assert!((0.9..1.2).contains(&thread.computed_share()), "{}", thread.computed_share());
        }
    }

    #[test]
    fn waits_before_requests_that_are_due_delay_no_reply_and_samples_do_not_follow_their_rhythm() {
        let mut thread = SimulatedThread::new();
        // Periods alternate: a request becomes due, and its reply arrives.
        let next = |thread: &mut SimulatedThread, part: Part| Part {
            is_due: !part.is_due,
            ..Part::at(thread.now_ns + MS)
        };
        thread.run(40_000, vec![Part { is_due: true, ..Part::at(MS) }], [|_| 50 * US, never], next);
        assert!((thread.computed_share() - 1.0).abs() < 0.1, "{}", thread.computed_share());
    }

    #[test]
    fn the_weights_of_waits_do_not_overflow() {
        let counters = ThreadCounters::new();
        for _ in 0..3 {
            counters.add_sample([WeightedWait { wait_ns: u64::MAX / 8, replies: 1_000_000 }; 2]);
        }
        let totals = ReplyWaits { replies: 1, samples: MIN_SAMPLES, ..counters.totals() };
        let mean = totals.mean_ns(RunQueueStats { wait_ns: 1000, runs: 1 }).unwrap();
        assert!((mean / 1e9 - 1.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn a_reply_counts_once_in_a_period() {
        let (counters, mut last_period) = (ThreadCounters::new(), 0);
        for arrivals in 1..=3 {
            counters.count_arrival(&mut last_period);
            counters.count_arrival(&mut last_period);
            counters.count_arrival(&mut 0);
            assert_eq!(counters.arrivals.get(), 2 * arrivals);
            counters.before_sleep(|| None);
        }
        assert_eq!(counters.work.get(), 9);
    }

    #[test]
    fn counters_that_become_unreadable_end_a_sample() {
        let counters = ThreadCounters::new();
        for read in [Some(1), None, Some(5), None] {
            counters.before_sleep(|| read);
            counters.after_sleep(|| read);
        }
        assert_eq!((counters.samples.get(), counters.wait_ns.get()), (0, 0));
    }

    #[test]
    fn with_few_samples_every_wait_counts_for_the_mean_number_of_replies() {
        let queue = RunQueueStats { wait_ns: 1000 * MS, runs: 20_000 };
        let few = ReplyWaits { replies: 1000, arrivals: 1000, ..ReplyWaits::default() };
        assert_eq!(few.mean_ns(queue), Some(MS as f64));
        // A thread that reads several replies at a time delays each of them by a whole wait.
        let several = ReplyWaits { replies: 40_000, arrivals: 40_000, ..few };
        assert_eq!(several.mean_ns(queue), Some(0.05 * MS as f64));
        assert_eq!(ReplyWaits::default().mean_ns(queue), None);
    }

    #[test]
    fn the_periods_between_the_sleeps_of_a_runtime_are_sampled() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().on_thread_park(before_sleep).on_thread_unpark(after_sleep);
        let runtime = builder.build().unwrap();
        let before = ReplyWaits::read();
        let rounds = 20 * (MAX_SLEEPS_BETWEEN + 3) / 2;
        runtime.block_on(async {
            for _ in 0..rounds {
                tokio::time::sleep(Duration::from_micros(1)).await;
                count_arrival(&mut 0);
                count_reply();
            }
        });
        let counted = ReplyWaits::read().since(before);
        assert_eq!((counted.replies, counted.arrivals), (rounds.into(), rounds.into()));
        if RunQueueStats::read().is_some() {
            assert!(counted.samples >= 15, "{counted:?}");
        }
    }
}
