//! A simulated engine that serves some operations at a time, and the clients that send them on schedule.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and counts of a simulation are small and above 0"
)]
#![allow(clippy::struct_excessive_bools, reason = "a setup has independent properties")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pacenote_record::{EndedBy, OperationTimes, Recorder, Sample, SampleType, TaskInfo, TaskResult};

use super::{Race, end_clients, info, record, sample};

/// Random numbers that are the same on every machine (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// Returns a number in 0 < x <= 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }
}

/// A task of an engine that is always equally fast, except for its begin.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub clients: usize,
    pub workers: usize,
    pub open_loop: bool,
    /// Whether operations are due at random, or once every interval.
    pub is_random: bool,
    /// Operations per second.
    pub rate: f64,
    /// Number of operations that the engine serves at a time.
    pub servers: usize,
    pub service_s: f64,
    /// Whether service times are exponential, or all the same.
    pub is_exponential: bool,
    /// Until when the engine is slower, and the service time until then.
    pub slow: (f64, f64),
    pub warmup_s: f64,
    pub measured_s: f64,
    /// Whether the warm-up and the window have iterations instead of a time, of all clients together.
    pub by_iterations: bool,
}

impl Setup {
    pub const STEADY: Self = Self {
        clients: 64,
        workers: 2,
        open_loop: true,
        is_random: true,
        rate: 100.0,
        servers: 1,
        service_s: 0.005,
        is_exponential: true,
        slow: (0.0, 0.0),
        warmup_s: 2.0,
        measured_s: 10.0,
        by_iterations: false,
    };

    /// Returns the numbers of warm-up and measured operations.
    fn counts(&self) -> (usize, usize) {
        let count = |seconds: f64| (seconds * self.rate).round() as usize;
        (count(self.warmup_s), count(self.measured_s))
    }

    /// Returns when the operations are due: for each queue, in ascending order.
    fn due(&self, random: &mut Random) -> Vec<Vec<f64>> {
        let queues = if self.open_loop { 1 } else { self.clients };
        let interval = queues as f64 / self.rate;
        let end_s = self.warmup_s + self.measured_s;
        (0..queues)
            .map(|queue| {
                let mut at = if self.is_random {
                    random.exponential(interval)
                } else {
                    interval * queue as f64 / queues as f64
                };
                let mut times = Vec::new();
                while at < end_s {
                    times.push(at);
                    at += if self.is_random { random.exponential(interval) } else { interval };
                }
                times
            })
            .collect()
    }

    /// Returns the result of a race.
    pub fn race(&self, seed: u64) -> TaskResult {
        let samples = self.samples(&mut Random(seed));
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let (warmup_ns, end_ns) = (ns(self.warmup_s), ns(self.warmup_s + self.measured_s));
        let by_time = (!self.by_iterations).then_some(());
        let clients = u32::try_from(self.clients).unwrap();
        let info = TaskInfo {
            paced: true,
            open_loop: self.open_loop,
            clients,
            warmup_ns: by_time.map(|()| warmup_ns),
            end_ns: by_time.map(|()| end_ns),
            ..info()
        };
        let mut race = Race::new(info, u32::try_from(self.workers).unwrap());
        // Client number n belongs to worker n modulo the number of workers.
        let clients_of = |worker| (self.clients + self.workers - 1 - worker) / self.workers;
        let mut recorders: Vec<Recorder> =
            (0..self.workers).map(|worker| race.recorder_of_clients(clients_of(worker), true)).collect();
        let mut admitted = vec![0; self.workers];
        let mut left_ns: Vec<Vec<u64>> =
            (0..self.workers).map(|worker| vec![0; clients_of(worker)]).collect();
        for (sample, is_delayed) in samples {
            let worker = sample.client_number as usize % self.workers;
            admitted[worker] += 1;
            left_ns[worker][sample.client_number as usize / self.workers] = sample.times.done_ns;
            if is_delayed {
                recorders[worker].record_warmup_delay(&sample);
            }
            record(&mut recorders[worker], sample);
        }
        let ended_by = if self.by_iterations { EndedBy::Iterations } else { EndedBy::Time };
        for (recorder, (admitted, left_ns)) in recorders.iter_mut().zip(admitted.into_iter().zip(left_ns)) {
            end_clients(recorder, ended_by, &left_ns, admitted);
        }
        race.result()
    }

    /// Returns the operations in the order in which they end, and whether each waited for a client that was behind the
    /// warm-up, by the rules of the driver.
    pub fn samples(&self, random: &mut Random) -> Vec<(Sample, bool)> {
        let due = self.due(random);
        let mut clients: Vec<Client> = vec![Client::default(); self.clients];
        let mut servers: BinaryHeap<Reverse<u64>> = (0..self.servers).map(|_| Reverse(0)).collect();
        let mut next: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        for (queue, times) in due.iter().enumerate() {
            times.first().iter().for_each(|at| next.push(Reverse((ns(**at), queue, 0))));
        }
        let (warmup_count, mut taken) = (self.counts().0, 0);
        let mut samples = Vec::new();
        while let Some(Reverse((sent_ns, queue, number))) = next.pop() {
            let due_ns = ns(due[queue][number]);
            let client = if self.open_loop { first_free(&clients) } else { queue };
            let begin_ns = servers.pop().unwrap().0.max(sent_ns);
            let is_slow = (begin_ns as f64) < self.slow.0 * 1e9;
            let mean = if is_slow { self.slow.1 } else { self.service_s };
            let service = if self.is_exponential { random.exponential(mean) } else { mean };
            let done_ns = begin_ns + ns(service).max(1);
            servers.push(Reverse(done_ns));
            let is_warmup =
                if self.by_iterations { taken < warmup_count } else { due_ns < ns(self.warmup_s) };
            taken += 1;
            let waited = due_ns < clients[client].free_ns;
            let is_behind = |other: &Client| other.is_behind && other.free_ns > due_ns.max(1);
            let others_behind = self.open_loop && clients.iter().any(is_behind);
            let is_delayed = !is_warmup && waited && (clients[client].is_behind || others_behind);
            let free_since_ns = clients[client].free_ns;
            clients[client] = Client { free_ns: done_ns, is_behind: is_warmup || is_delayed };
            let sample_type = if is_warmup { SampleType::Warmup } else { SampleType::Measured };
            let one = sample(sent_ns, done_ns);
            let times = OperationTimes { paced: true, due_ns, free_since_ns, ..one.times };
            let client_number = u32::try_from(client).unwrap();
            samples.push((Sample { client_number, sample_type, times, ..one }, is_delayed));
            if let Some(at) = due[queue].get(number + 1) {
                let free_ns = if self.open_loop { clients[first_free(&clients)].free_ns } else { done_ns };
                next.push(Reverse((ns(*at).max(free_ns), queue, number + 1)));
            }
        }
        samples.sort_by_key(|(sample, _)| sample.times.done_ns);
        samples
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Client {
    free_ns: u64,
    is_behind: bool,
}

fn first_free(clients: &[Client]) -> usize {
    (0..clients.len()).min_by_key(|client| clients[*client].free_ns).unwrap()
}
