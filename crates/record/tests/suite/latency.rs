//! Percentiles of latency in which operations without success rank above all others.

use pacenote_record::{EndedBy, ErrorClass, OperationTimes, Sample, SampleType, TaskInfo, UnsentOperations};

use crate::support::{MS, Race, end, failing, info, paced, record, sample};

#[test]
fn operations_without_success_rank_above_every_latency() {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    // A success lasts 1 to 980 ms; a failure is fast.
    for number in 0..980_u64 {
        record(&mut recorder, paced(number * MS, 0, sample(number * MS, (2 * number + 1) * MS)));
    }
    for number in 980..1000 {
        let failed = failing(ErrorClass::HttpStatus, 1, sample(number * MS, number * MS + 1));
        record(&mut recorder, paced(number * MS, 0, failed));
    }
    end(&mut recorder, EndedBy::Time, 1000);
    let result = race.result();
    let successes = result.latency.unwrap();
    assert!((successes.percentiles[2].ms - 971.0).abs() < 1.0, "{successes:?}");
    let [p50, p90, p99, p999, _] = result.latency_with_failures[..] else {
        panic!("{:?}", result.latency_with_failures)
    };
    // Half of a thousand operations, not half of the successes, were as fast as 500 ms.
    assert!((p50.ms.unwrap() - 500.0).abs() < 1.0, "{p50:?}");
    // The upper bound of p90 is at rank 919: the number of operations above p90 is binomial, 100 ± 19.
    assert!((p90.ms.unwrap() - 900.0).abs() < 1.0 && (p90.high_ms.unwrap() - 919.0).abs() < 2.0, "{p90:?}");
    assert_eq!((p99.q, p99.ms, p99.high_ms, p99.supported), (99.0, None, None, true));
    assert_eq!((p999.ms, p999.supported), (None, false));
}

#[test]
fn the_bound_of_a_percentile_is_endless_if_failures_reach_its_rank() {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    for number in 0..1000_u64 {
        let sample = sample(number * MS, (number + 5) * MS);
        let sample = if number % 125 == 0 { failing(ErrorClass::Reset, 1, sample) } else { sample };
        record(&mut recorder, paced(number * MS, 0, sample));
    }
    end(&mut recorder, EndedBy::Time, 1000);
    let p99 = race.result().latency_with_failures[2];
    // 8 of 1,000 failed; their true rate may be above 1 %.
    assert!((p99.ms.unwrap() - 5.0).abs() < 0.01, "{p99:?}");
    assert_eq!(p99.high_ms, None);
}

#[test]
fn operations_of_the_warm_up_that_were_not_answered_or_not_sent_do_not_count() {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    // Ten measured operations last 1 to 10 ms; one is not answered, and one is not sent.
    for number in 0..10 {
        record(&mut recorder, paced(number * MS, 0, sample(number * MS, (2 * number + 1) * MS)));
    }
    recorder.begin_operation(0, SampleType::Measured);
    for _ in 0..3 {
        recorder.begin_operation(0, SampleType::Warmup);
    }
    recorder.begin_operation(0, SampleType::Warmup);
    recorder.withdraw_begun(0, SampleType::Warmup);
    recorder.leave_unsent(0, UnsentOperations { total: 5, warmup: 4 });
    end(&mut recorder, EndedBy::Stopped, 14);
    let result = race.result();
    assert_eq!((result.operation_totals.unanswered, result.operation_totals.unsent), (4, 5));
    // The median of the twelve measured operations.
    let p50 = result.latency_with_failures[0];
    assert!((p50.ms.unwrap() - 6.0).abs() < 0.01, "{p50:?}");
    assert_eq!(result.latency_with_failures[1].ms, None);
}

/// A runner in Python holds its client for ten times the service time. A backlog of 100 operations, which are as slow as
/// a fifth of the others, is explained by random arrivals at a load of 0.8, and not by those at 0.08.
#[test]
fn the_load_that_explains_a_backlog_is_the_time_for_which_clients_are_held() {
    for (held_ns, is_marked) in [(80 * MS, false), (8 * MS, true)] {
        let mut race = Race::new(TaskInfo { paced: true, clients: 1, ..info() }, 1);
        let mut recorder = race.recorder(true);
        for number in 0..1000_u64 {
            let (due, is_delayed) = (number * 100 * MS, number < 100);
            let sent = due + if is_delayed || number % 5 == 0 { 300 * MS } else { 0 };
            let operation = sample(sent, sent + 8 * MS);
            let times = OperationTimes { processing_ns: held_ns, ..operation.times };
            let free = if is_delayed || number % 10 < 8 { due + 1 } else { due };
            let operation = paced(due, free, Sample { times, ..operation });
            if is_delayed {
                recorder.record_warmup_delay(&operation);
            }
            record(&mut recorder, operation);
        }
        end(&mut recorder, EndedBy::Iterations, 1000);
        let backlog = race.result().warmup_backlog;
        assert_eq!((backlog.delayed, backlog.marked), (100, is_marked), "{held_ns}");
    }
}

/// Two workers with 16 clients each: 297 of 1,000 operations wait for the warm-up, and p90 would be 190 ms without them.
/// As many that failed, or that took no longer, change no latency.
#[test]
fn a_backlog_that_changes_latency_marks_it_however_many_clients_there_are() {
    for (slow_ms, class, is_marked) in
        [(900, ErrorClass::None, true), (0, ErrorClass::None, false), (900, ErrorClass::HttpStatus, false)]
    {
        let mut race = Race::new(TaskInfo { paced: true, clients: 32, ..info() }, 2);
        let mut recorders = [race.recorder(true), race.recorder(true)];
        for number in 0..1000_u64 {
            let (due, is_delayed) = (number * 10 * MS, number < 297);
            let sent = due + if is_delayed { slow_ms * MS } else { 0 };
            let operation = sample(sent, sent + 190 * MS);
            let operation = if is_delayed { failing(class, 0, operation) } else { operation };
            let operation = paced(due, if is_delayed { due + 1 } else { due }, operation);
            let recorder = &mut recorders[(number % 2) as usize];
            if is_delayed {
                recorder.record_warmup_delay(&operation);
            }
            record(recorder, operation);
        }
        for mut recorder in recorders {
            end(&mut recorder, EndedBy::Iterations, 500);
        }
        let backlog = race.result().warmup_backlog;
        assert_eq!((backlog.delayed, backlog.marked), (297, is_marked), "{slow_ms} {class:?}");
    }
}
