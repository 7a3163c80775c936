use super::*;
use crate::sample::{OperationTimes, SampleResult, Traffic};

const MS: u64 = 1_000_000;

fn sample(sample_type: SampleType, begin_ns: u64, done_ns: u64) -> Sample {
    let times = OperationTimes {
        paced: true,
        due_ns: begin_ns,
        free_since_ns: 0,
        first_sent_ns: begin_ns,
        service_start_ns: begin_ns,
        done_ns,
        processing_ns: done_ns - begin_ns,
    };
    Sample {
        task_index: 0,
        sub_operation: None,
        client_number: 0,
        sample_type,
        times,
        result: SampleResult::default(),
        traffic: Traffic::default(),
    }
}

/// Returns the log of one worker with these operations of the warm-up, and then of the window, by begin and end.
fn log(clients: usize, warmup: &[(u64, u64)], measured: &[(u64, u64)]) -> FlightLog {
    let mut log = FlightLog::default();
    (0..clients).for_each(|_| log.add_client());
    for (sample_type, spans) in [(SampleType::Warmup, warmup), (SampleType::Measured, measured)] {
        for (begin_ns, done_ns) in spans {
            log.add(&sample(sample_type, *begin_ns, *done_ns));
        }
    }
    log
}

/// Returns the backlog of clients that share their schedule.
fn find(log: FlightLog, measured: &[(u64, u64)]) -> Option<EngineBacklog> {
    find_of(log, measured, &[])
}

fn find_of(log: FlightLog, measured: &[(u64, u64)], clients: &[ClientSpan]) -> Option<EngineBacklog> {
    let service_ns = measured.iter().map(|(begin_ns, done_ns)| (done_ns - begin_ns) as f64).sum();
    EngineBacklog::find(&[log], MeasuredSpan { operations: measured.len() as u64, service_ns, clients })
}

/// One operation after another from 100 ms on, each of which takes all of its 10 ms.
fn busy(count: u64) -> Vec<(u64, u64)> {
    (0..count).map(|number| ((100 + 10 * number) * MS, (110 + 10 * number) * MS)).collect()
}

#[test]
fn more_in_flight_than_chance_explains_are_a_backlog() {
    let measured = busy(100);
    // On average, one is in flight; 1 + 3 × √2 = 5.2.
    for (in_flight, expected) in [(5, None), (6, Some(3))] {
        let warmup = vec![(50 * MS, 125 * MS); in_flight];
        let found = find(log(8, &warmup, &measured), &measured);
        // Those that begin at 100, 110 and 120 ms; then, one is in flight.
        assert_eq!(found.map(|found| (found.operations, found.gone)), expected.map(|count| (count, true)));
    }
    // Those that ended before, or are sent later, are not in flight when the window begins.
    for span in [(50 * MS, 100 * MS), (100 * MS, 125 * MS)] {
        assert_eq!(find(log(8, &[span; 6], &measured), &measured), None);
    }
}

#[test]
fn operations_that_a_client_delayed_count_only_once() {
    let measured = busy(100);
    let mut log = log(8, &[(50 * MS, 125 * MS); 8], &[]);
    for (number, (begin_ns, done_ns)) in measured.iter().enumerate() {
        // Also one that begins after the backlog of the engine is gone.
        if number == 1 || number == 5 {
            log.delay_next();
        }
        log.add(&sample(SampleType::Measured, *begin_ns, *done_ns));
    }
    let found = find(log, &measured).unwrap();
    assert_eq!((found.operations, found.latencies_ns.len(), found.most_of_client), (2, 2, 4));
    assert_eq!((found.last_due_ns, found.due_until), (150 * MS, 6));
}

#[test]
fn the_memory_of_a_log_is_bounded_and_reserved_before() {
    let mut log = log(3, &[], &[]);
    let reserved = (log.warmup.capacity(), log.measured.capacity(), log.last.capacity());
    for number in 0..3 * KEPT_MEASURED as u64 {
        log.add(&sample(SampleType::Warmup, number, number + 1));
    }
    // Two of three clients have operations in flight when the log is full; others begin later.
    let full = KEPT_MEASURED as u64;
    for number in 0..full {
        log.add(&sample(SampleType::Measured, number, number + 1));
    }
    for (begin_ns, done_ns) in [(full, full + 1), (5, full + 2), (full + 2, full + 3), (7, full + 4)] {
        log.add(&sample(SampleType::Measured, begin_ns, done_ns));
    }
    assert_eq!((log.warmup.len(), log.measured.len()), (KEPT_WARMUP, KEPT_MEASURED + 2));
    assert_eq!((log.warmup.capacity(), log.measured.capacity(), log.last.capacity()), reserved);
    assert_eq!(log.full_ns, Some(full));
}

#[test]
fn a_backlog_that_lasts_longer_than_what_is_kept_is_not_gone() {
    let kept = KEPT_MEASURED as u64;
    // 50 are in flight for all of the time that is kept, and nearly none for the rest of the window.
    let warmup: Vec<(u64, u64)> = (0..50).map(|_| (0, 2 * kept * MS)).collect();
    let begin_ms = |number: u64| 100 + number + 9 * number.saturating_sub(kept);
    let measured: Vec<(u64, u64)> =
        (0..2 * kept).map(|number| (begin_ms(number) * MS, (begin_ms(number) + 1) * MS)).collect();
    let found = find(log(50, &warmup, &measured), &measured).unwrap();
    assert_eq!((found.operations, found.gone), (kept, false));
}

/// Operations of the warm-up or of the window that send nothing begin and end at the same instant.
#[test]
fn operations_that_send_nothing_are_not_in_flight() {
    // Two are in flight besides those of the window until 145 ms, and four more until 105 ms.
    let warmup: Vec<(u64, u64)> =
        (0..6).map(|number| (50 * MS, if number < 4 { 105 * MS } else { 145 * MS })).collect();
    let measured = busy(100);
    let expected = find(log(8, &warmup, &measured), &measured).unwrap();
    assert_eq!((expected.operations, expected.gone), (5, true));
    for at_ns in [60 * MS, 100 * MS, 107 * MS, 110 * MS] {
        let nothing = [(at_ns, at_ns); 4];
        let with = |others: &[(u64, u64)]| [others, &nothing].concat();
        assert_eq!(find(log(8, &with(&warmup), &measured), &measured).as_ref(), Some(&expected));
        let found = find(log(8, &warmup, &with(&measured)), &with(&measured));
        assert_eq!(found.as_ref(), Some(&expected), "{at_ns}");
    }
}

/// A request that runs into its timeout lasts longer than everything before it.
#[test]
fn the_last_operations_do_not_change_the_mean() {
    let warmup = [(50 * MS, 125 * MS); 6];
    let measured = busy(100);
    let expected = find(log(8, &warmup, &measured), &measured);
    assert_eq!(expected.as_ref().map(|found| (found.operations, found.gone)), Some((3, true)));
    // Several of them, which begin before or together with the last operation.
    let tail = [(1_090 * MS, 60_000 * MS), (1_090 * MS, 61_000 * MS), (1_080 * MS, 90_000 * MS)];
    let with_tail = [&measured[..], &tail].concat();
    let found = find(log(8, &warmup, &with_tail), &with_tail);
    assert_eq!(found.map(|found| (found.operations, found.gone)), Some((3, true)));
    // All of 30 clients are always busy.
    let of_client = |client: u64, second: u64| {
        let begin_ns = 1_000 * MS * second + 30 * MS * client;
        (begin_ns, begin_ns + 1_000 * MS)
    };
    let in_seconds = |seconds: std::ops::Range<u64>| -> Vec<(u64, u64)> {
        seconds.flat_map(|second| (0..30).map(move |client| of_client(client, second))).collect()
    };
    let (warmup, measured) = (in_seconds(0..5), in_seconds(5..35));
    let tail = (35_000 * MS, 95_000 * MS);
    let with_tail = [&measured[..], &[tail]].concat();
    assert_eq!(find(log(30, &warmup, &with_tail), &with_tail), None);
}

/// 300 clients are always busy, but some of them are done later than others.
#[test]
fn clients_that_are_done_early_do_not_change_the_mean() {
    let in_seconds = |seconds: std::ops::Range<u64>| -> Vec<(u64, u64)> {
        seconds.map(|second| (1_000 * MS * second, 1_000 * MS * (second + 1))).collect()
    };
    let by_end = |mut spans: Vec<(u64, u64)>| {
        spans.sort_by_key(|(_, done_ns)| *done_ns);
        spans
    };
    let sharply = |client: u64| if client < 290 { 35 } else { 335 };
    let slowly = |client: u64| 35 + client;
    let ends: [&dyn Fn(u64) -> u64; 2] = [&sharply, &slowly];
    for end_s in ends {
        // The first of them is half a second ahead of the others.
        let ahead = |(begin_ns, done_ns): (u64, u64)| (begin_ns - 500 * MS, done_ns - 500 * MS);
        let of_clients = |of_client: &dyn Fn(u64) -> std::ops::Range<u64>| {
            let others = (1..300).flat_map(|client| in_seconds(of_client(client)));
            by_end(in_seconds(of_client(0)).into_iter().map(ahead).chain(others).collect())
        };
        let warmup = of_clients(&|_| 1..5);
        let measured = of_clients(&|client| 5..end_s(client));
        let clients: Vec<ClientSpan> =
            (0..300).map(|client| ClientSpan::new(0).until(1_000 * MS * end_s(client))).collect();
        assert_eq!(find_of(log(300, &warmup, &measured), &measured, &clients), None);
        // They would have a backlog if they shared their schedule.
        assert!(find(log(300, &warmup, &measured), &measured).is_some());
    }
}

/// The warm-up of the last of 300 clients, which are always busy, ends half a minute after that of the first.
#[test]
fn operations_of_the_warm_up_that_follow_the_first_measured_one_count_towards_the_mean() {
    let (mut warmup, mut measured) = (Vec::new(), Vec::new());
    for client in 0..300_u64 {
        for second in 0..60_u64 {
            let begin_ns = 1_000 * MS * second + 3 * MS * client;
            let of_kind = if second < 10 + client / 10 { &mut warmup } else { &mut measured };
            of_kind.push((begin_ns, begin_ns + 1_000 * MS));
        }
    }
    warmup.sort_unstable_by_key(|(_, done_ns)| *done_ns);
    measured.sort_unstable_by_key(|(_, done_ns)| *done_ns);
    assert_eq!(find(log(300, &warmup, &measured), &measured), None);
    // Also if all of them are kept.
    assert_eq!(find(log(3_000, &warmup, &measured), &measured), None);
}

#[test]
fn a_task_without_a_warm_up_has_no_backlog() {
    assert_eq!(find(log(8, &[], &[]), &[]), None);
    let measured = [(100 * MS, 900 * MS); 8];
    assert_eq!(find(log(8, &[], &measured), &measured), None);
    assert_eq!(find(log(8, &[(0, 500 * MS)], &[]), &[]), None);
}
