//! The backlog of a warm-up that waits in the engine: more clients send operations than the engine serves at a time, so
//! that none of them is late.
use crate::support::engine::Setup;
use crate::support::{MS, Race, end, end_clients, info, paced, record, sample};
use pacenote_record::{Delivery, EndedBy, Sample, SampleType, TaskInfo, TaskResult};

/// 150 operations per second, of which the engine serves one at a time, in 5 ms, and in 8 ms for its first seconds.
const SLOW_FIRST: Setup = Setup {
    is_random: false,
    rate: 150.0,
    is_exponential: false,
    slow: (3.0, 0.008),
    warmup_s: 3.0,
    measured_s: 25.0,
    ..Setup::STEADY
};

/// Returns p99 in milliseconds.
fn p99_ms(result: &TaskResult) -> f64 {
    result
        .latency
        .as_ref()
        .unwrap()
        .percentiles
        .iter()
        .find(|percentile| (percentile.q - 99.0).abs() < 1e-9)
        .unwrap()
        .ms
}

#[test]
fn operations_that_wait_in_the_engine_are_delayed_although_their_clients_are_free() {
    let setup = Setup { open_loop: false, slow: (2.0, 0.008), warmup_s: 2.0, ..SLOW_FIRST };
    let result = setup.race(1);
    let backlog = result.warmup_backlog;
    // At 2 s, 50 of 300 are in flight; 200 of 1 s are served while 150 are due.
    assert_eq!(result.operation_totals.waited, 0);
    assert!(backlog.marked && backlog.gone && (120..200).contains(&backlog.in_engine), "{backlog:?}");
    assert_eq!(backlog.delayed, backlog.in_engine);
    let until_s = backlog.until_s.unwrap();
    assert!(
        (2.8..3.2).contains(&until_s) && result.steady.since_s == Some(until_s),
        "{backlog:?} {:?}",
        result.steady
    );
    // A warm-up that contains them leaves none.
    let result = Setup { warmup_s: until_s.floor() + 1.0, ..setup }.race(1);
    let backlog = result.warmup_backlog;
    assert!(backlog.delayed <= 2 && !backlog.marked && p99_ms(&result) < 10.0, "{backlog:?}");
}

#[test]
fn a_warm_up_as_long_as_the_advice_contains_what_waits_in_the_engine() {
    // 75 operations are left, of which 64 are in flight, and 11 wait for a connection.
    let result = SLOW_FIRST.race(1);
    let backlog = result.warmup_backlog;
    let of_clients = backlog.delayed - backlog.in_engine;
    assert!(of_clients > 20 && backlog.marked && backlog.in_engine > 100, "{backlog:?}");
    assert!((4.1..4.6).contains(&backlog.until_s.unwrap()), "{backlog:?}");
    // The end of what waited for connections is too early.
    for (warmup_s, is_marked) in [(4.0, true), (5.0, false)] {
        let result = Setup { warmup_s, ..SLOW_FIRST }.race(1);
        let backlog = result.warmup_backlog;
        assert_eq!((backlog.marked, p99_ms(&result) > 50.0), (is_marked, is_marked), "{backlog:?}");
        assert_eq!(backlog.delayed, backlog.in_engine);
    }
}

#[test]
fn iterations_that_contain_what_waits_in_the_engine_are_those_of_the_slowest_client() {
    for open_loop in [false, true] {
        let setup = Setup { open_loop, by_iterations: true, clients: 128, ..SLOW_FIRST };
        let backlog = setup.race(1).warmup_backlog;
        let (until_s, iterations) = (backlog.until_s.unwrap(), backlog.iterations.unwrap());
        assert!(backlog.marked && backlog.delayed == backlog.in_engine, "{backlog:?}");
        let needed = (until_s * setup.rate / 128.0).ceil();
        assert!((iterations as f64 - needed).abs() <= 1.0, "{open_loop} {needed} {backlog:?}");
    }
}

/// The samples of threads arrive in different orders, but describe the same operations.
#[test]
fn the_number_of_driver_threads_does_not_change_what_waits() {
    let of_workers = |workers| Setup { workers, ..SLOW_FIRST }.race(1).warmup_backlog;
    assert_eq!(of_workers(1), of_workers(4));
}

#[test]
fn an_engine_that_is_always_equally_fast_has_no_backlog() {
    for open_loop in [false, true] {
        for (servers, rate) in [(1, 150.0), (8, 1_200.0), (64, 9_600.0)] {
            let setup = Setup { open_loop, servers, rate, slow: (0.0, 0.0), ..SLOW_FIRST };
            let backlog = Setup { measured_s: 2_000.0 / rate, ..setup }.race(1).warmup_backlog;
            assert_eq!((backlog.delayed, backlog.effect), (0, None), "{open_loop} {servers}");
        }
    }
}

/// Clients that are always busy are a queue of the clients, which they see, not of the engine.
#[test]
fn an_engine_that_never_keeps_the_rate_has_no_more_in_flight_at_first() {
    for open_loop in [false, true] {
        let setup = Setup { open_loop, clients: 8, rate: 250.0, slow: (0.0, 0.0), ..SLOW_FIRST };
        let backlog = setup.race(1).warmup_backlog;
        assert!(backlog.in_engine == 0 && backlog.marked, "{open_loop} {backlog:?}");
    }
}

/// Returns the result of clients that send each operation when it is due. Begins and ends are in milliseconds, and the
/// first `warmup` operations of each client belong to the warm-up.
fn race_of(clients: &[Vec<(u64, u64)>], warmup: usize) -> TaskResult {
    let count = u32::try_from(clients.len()).unwrap();
    let mut race = Race::new(TaskInfo { paced: true, clients: count, ..info() }, 1);
    let mut recorder = race.recorder_of_clients(clients.len(), true);
    let mut samples = Vec::new();
    for (client_number, operations) in (0..count).zip(clients) {
        for (number, (begin_ms, done_ms)) in operations.iter().enumerate() {
            let sample_type = if number < warmup { SampleType::Warmup } else { SampleType::Measured };
            let operation = paced(begin_ms * MS, begin_ms * MS, sample(begin_ms * MS, done_ms * MS));
            samples.push(Sample { client_number, sample_type, ..operation });
        }
    }
    samples.sort_by_key(|sample| sample.times.done_ns);
    let admitted = samples.len() as u64;
    for sample in samples {
        record(&mut recorder, sample);
    }
    let left_ns: Vec<u64> =
        clients.iter().map(|operations| operations.last().map_or(0, |(_, done_ms)| done_ms * MS)).collect();
    end_clients(&mut recorder, EndedBy::Iterations, &left_ns, admitted);
    race.result()
}

/// Returns operations of which each begins when the one before it ends.
fn one_after_another(start_ms: u64, count: u64, length_ms: u64) -> Vec<(u64, u64)> {
    (0..count).map(|number| start_ms + number * length_ms).map(|at_ms| (at_ms, at_ms + length_ms)).collect()
}

/// Each client always has one operation in flight while it is in the task.
#[test]
fn clients_that_end_their_warm_up_or_the_task_at_different_times_leave_no_backlog() {
    // The last request runs into its timeout.
    let mut tail: Vec<Vec<(u64, u64)>> =
        (0..30).map(|client| one_after_another(33 * client, 35, 1_000)).collect();
    tail[0].push((35_000, 95_000));
    // A third of the clients has three times as many operations.
    let uneven: Vec<Vec<(u64, u64)>> = (0..300)
        .map(|client| one_after_another(3 * client, if client % 3 == 0 { 105 } else { 35 }, 1_000))
        .collect();
    // Some are four times as fast as others.
    let fast: Vec<Vec<(u64, u64)>> =
        (0..300).map(|client| one_after_another(0, 50, 1_000 + 10 * client)).collect();
    for (kind, clients, warmup) in [("tail", tail, 5), ("uneven", uneven, 5), ("fast", fast, 10)] {
        let backlog = race_of(&clients, warmup).warmup_backlog;
        assert_eq!((backlog.in_engine, backlog.marked), (0, false), "{kind} {backlog:?}");
    }
}

/// Without a warm-up, nothing of it is in flight.
#[test]
fn operations_are_kept_only_for_tasks_with_a_warm_up() {
    for has_warmup in [false, true] {
        let race = Race::new(TaskInfo { paced: true, ..info() }, 1);
        let mut recorder = race.recorder_of_clients(1, has_warmup);
        record(&mut recorder, sample(MS, 2 * MS));
        end(&mut recorder, EndedBy::Iterations, 1);
        let mut deliveries = race.inbox.try_iter();
        let is_kept = deliveries.any(|delivery| matches!(delivery, Delivery::Flights { .. }));
        assert_eq!(is_kept, has_warmup);
    }
}

/// Random arrivals and service times: what is in flight by chance when the window begins is explained by what is in
/// flight later. `docs/measuring.md` has the shares.
#[test]
fn a_queue_that_an_engine_always_has_is_seldom_marked() {
    for (load, servers, open_loop, most) in [(0.3, 1, true, 0), (0.9, 1, false, 1), (0.7, 8, true, 0)] {
        let rate = load * servers as f64 / 0.005;
        let setup = Setup {
            servers,
            open_loop,
            rate,
            workers: 1,
            warmup_s: 400.0 / rate,
            measured_s: 400.0 / rate,
            ..Setup::STEADY
        };
        let marked = (0..8).filter(|seed| setup.race(seed * 7919 + 1).warmup_backlog.marked).count();
        assert!(marked <= most, "{load} {servers} {open_loop}: {marked} of 8");
    }
}

/// The largest share of 100 races for each value whose latency is marked although the engine is always equally fast: the
/// figures of `docs/measuring.md`. `cargo test --release -p pacenote-record --test suite -- --ignored --nocapture shares`
/// prints them.
#[test]
#[ignore = "simulates 14,400 races, five minutes in a release build, for a table of the documentation"]
#[allow(clippy::print_stdout, reason = "the table is its result")]
fn shares_of_races_that_are_marked_by_chance() {
    for load in [0.3, 0.5, 0.7, 0.8, 0.9, 0.95] {
        let mut counts = Vec::new();
        for (servers, open_loop) in [(1, false), (1, true), (8, false), (8, true)] {
            for (is_random, is_exponential) in [(true, true), (true, false)] {
                for measured in [200.0, 1_000.0, 4_000.0] {
                    let rate = load * servers as f64 / 0.005;
                    let (warmup_s, measured_s) = (measured / rate, measured / rate);
                    let setup = Setup {
                        servers,
                        open_loop,
                        rate,
                        workers: 1,
                        is_random,
                        is_exponential,
                        warmup_s,
                        measured_s,
                        ..Setup::STEADY
                    };
                    let is_marked = |seed: u64| setup.race(seed * 7919 + 1).warmup_backlog.marked;
                    counts.push((0..100).filter(|seed| is_marked(*seed)).count());
                }
            }
        }
        println!("load {load}: {} of 100 at most, {counts:?}", counts.iter().max().unwrap());
    }
}
