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

fn find(log: FlightLog, measured: &[(u64, u64)], end_ns: u64) -> Option<EngineBacklog> {
    let service_ns = measured.iter().map(|(begin_ns, done_ns)| (done_ns - begin_ns) as f64).sum();
    EngineBacklog::find(&[log], MeasuredSpan { service_ns, end_ns })
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
        let found = find(log(8, &warmup, &measured), &measured, 1_100 * MS);
        // Those that begin at 100, 110 and 120 ms; then, one is in flight.
        assert_eq!(found.map(|found| (found.operations, found.gone)), expected.map(|count| (count, true)));
    }
    // Those that ended before, or are sent later, are not in flight when the window begins.
    for span in [(50 * MS, 100 * MS), (100 * MS, 125 * MS)] {
        assert_eq!(find(log(8, &[span; 6], &measured), &measured, 1_100 * MS), None);
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
    let found = find(log, &measured, 1_100 * MS).unwrap();
    assert_eq!((found.operations, found.latencies_ns.len(), found.most_of_client), (2, 2, 4));
    assert_eq!((found.last_due_ns, found.due_until), (150 * MS, 6));
}

#[test]
fn the_memory_of_a_log_is_bounded_and_reserved_before() {
    let mut log = log(3, &[], &[]);
    let reserved = (log.warmup.capacity(), log.measured.capacity());
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
    assert_eq!((log.warmup.capacity(), log.measured.capacity()), reserved);
    assert_eq!(log.full_ns, Some(full));
}

#[test]
fn a_backlog_that_lasts_longer_than_what_is_kept_is_not_gone() {
    let kept = KEPT_MEASURED as u64;
    // 50 are in flight for all of the time that is kept, and nearly none for the rest of the window.
    let warmup: Vec<(u64, u64)> = (0..50).map(|_| (0, 2 * kept * MS)).collect();
    let measured: Vec<(u64, u64)> =
        (0..2 * kept).map(|number| ((100 + number) * MS, (101 + number) * MS)).collect();
    let found = find(log(50, &warmup, &measured), &measured, 10 * kept * MS).unwrap();
    assert_eq!((found.operations, found.gone), (kept, false));
}

#[test]
fn a_task_without_a_warm_up_has_no_backlog() {
    assert_eq!(find(log(8, &[], &[]), &[], 100), None);
    let measured = [(100 * MS, 900 * MS); 8];
    assert_eq!(find(log(8, &[], &measured), &measured, 1_100 * MS), None);
    assert_eq!(find(log(8, &[(0, 500 * MS)], &[]), &[], 100), None);
}
