//! The begin and the end of measured windows.

use pacenote_record::{
    DrainedWindow, EndedBy, MeasuredWindow, Sample, SampleType, TaskInfo, TaskResult, Throughput,
    UnsentOperations,
};

use crate::support::{MS, Race, SECOND, end, info, paced, record, sample, weighing};

#[test]
fn data_that_ends_after_a_warm_up_time_fills_all_its_intervals() {
    let time = TaskInfo { warmup_ns: Some(SECOND), interval_ns: Some(400 * MS), paced: true, ..info() };
    // Neither the time period that did not pass nor its absence changes the window.
    for end_ns in [None, Some(60 * SECOND)] {
        let mut race = Race::new(TaskInfo { end_ns, ..time.clone() }, 1);
        let window = MeasuredWindow::Time { begin_ns: SECOND, end_ns: end_ns.unwrap_or(u64::MAX) };
        let mut recorder = race.recorder_of(true, window);
        // Every operation takes 300 ms, so that the last one of the warm-up ends after it.
        for number in 0..7 {
            let due = number * 400 * MS;
            let sample_type = if due < SECOND { SampleType::Warmup } else { SampleType::Measured };
            let one = weighing(1, sample(due, due + 300 * MS));
            record(&mut recorder, paced(due, 0, Sample { sample_type, ..one }));
        }
        end(&mut recorder, EndedBy::Source, 7);
        let result = race.result();
        // Four operations from 1.2 s on, one every 400 ms, fill 1.6 s.
        assert!((result.window_s - 1.6).abs() < 1e-9, "{}", result.window_s);
        assert!((result.throughput.unwrap().mean - 2.5).abs() < 1e-9, "{:?}", result.throughput);
        assert_eq!(result.window_operations, 4);
    }
}

#[test]
fn a_window_that_ends_between_seconds_counts_no_work_beyond_it() {
    let warmup_ns = Some(0);
    let mut race = Race::new(TaskInfo { warmup_ns, end_ns: Some(2100 * MS), ..info() }, 1);
    let mut recorder = race.recorder_of(false, MeasuredWindow::Time { begin_ns: 0, end_ns: 2100 * MS });
    for number in 0..3 {
        record(&mut recorder, weighing(1, sample(number * SECOND, (number + 1) * SECOND)));
    }
    end(&mut recorder, EndedBy::Time, 3);
    let throughput = race.result().throughput.unwrap();
    assert!((throughput.mean - 2.0 / 2.1).abs() < 1e-9, "{throughput:?}");
}

/// Another task completes the step after 3 s; an operation that was in flight then ends 7 s later.
#[test]
fn the_window_of_a_task_ends_when_another_task_completes_its_step() {
    for (info, measured) in [
        (info(), MeasuredWindow::Operations),
        (
            TaskInfo { warmup_ns: Some(0), end_ns: Some(60 * SECOND), ..info() },
            MeasuredWindow::Time { begin_ns: 0, end_ns: 60 * SECOND },
        ),
    ] {
        let mut race = Race::new(info, 1);
        let mut recorder = race.recorder_of(false, measured);
        for number in 0..6 {
            record(&mut recorder, sample(number * 500 * MS, (number * 500 + 499) * MS));
        }
        recorder.begin_operation(0, SampleType::Measured);
        recorder.complete_window(0, 3 * SECOND);
        recorder.record(sample(2999 * MS, 10 * SECOND), None, []);
        end(&mut recorder, EndedBy::CompletedBy, 7);
        let result = race.result();
        let Throughput { min, mean, median, max } = result.throughput.unwrap();
        assert_eq!((min, mean, median, max), (20.0, 20.0, 20.0, 20.0), "{measured:?}");
        assert!((result.window_s - 3.0).abs() < 1e-9);
        assert_eq!(result.operation_totals.measured, 7);
    }
}

#[test]
fn a_deterministic_schedule_that_is_met_has_its_rate_as_throughput() {
    let mut race = Race::new(TaskInfo { interval_ns: Some(5 * MS), paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    for number in 0..100 {
        let due = number * 5 * MS;
        record(&mut recorder, paced(due, 0, weighing(1, sample(due, due + MS))));
    }
    end(&mut recorder, EndedBy::Iterations, 100);
    let result = race.result();
    // 100 operations at 200 per second fill half a second, although the last one was sent after 0.495 s.
    assert!((result.throughput.unwrap().mean - 200.0).abs() < 1e-9, "{:?}", result.throughput);
    assert!((result.window_s - 0.5).abs() < 1e-9);
}

/// Bulks of 1,000 documents, the last of which has 400, at a target of 5,000 documents per second.
#[test]
fn documents_fill_the_time_that_they_take_at_the_rate_of_their_schedule() {
    for (failed, completed_ms, window_s, documents) in [
        (0, None, 1.88, 9_400),
        (1_000, None, 1.88, 8_400),
        (0, Some(900), 1.0, 5_000),
        (0, Some(1_010), 1.01, 5_000),
    ] {
        let info = TaskInfo { document_interval_ns: Some(2e5), paced: true, unit: "docs".into(), ..info() };
        let mut race = Race::new(info, 1);
        let mut recorder = race.recorder(true);
        for number in 0..10_u64 {
            let due = number * 200 * MS;
            if let Some(completed_ms) = completed_ms.filter(|completed_ms| due + 20 * MS >= completed_ms * MS)
            {
                recorder.complete_window(0, completed_ms * MS);
            }
            let mut bulk = weighing(if number == 9 { 400 } else { 1_000 }, sample(due, due + 20 * MS));
            if number == 3 {
                bulk.result.weight -= failed;
                bulk.result.failed_weight = failed;
            }
            record(&mut recorder, paced(due, 0, bulk));
        }
        let ended_by = if completed_ms.is_some() { EndedBy::CompletedBy } else { EndedBy::Source };
        end(&mut recorder, ended_by, 10);
        let result = race.result();
        assert!((result.window_s - window_s).abs() < 1e-9, "{completed_ms:?} {}", result.window_s);
        let mean = result.throughput.unwrap().mean;
        assert!((mean * window_s - f64::from(u32::try_from(documents).unwrap())).abs() < 1e-6, "{mean}");
    }
}

/// Three operations are sent in the 11 ms before another task completes the step, and one is in flight: they fill three
/// intervals of 5 ms. If the step is completed later, the window ends with it.
#[test]
fn a_schedule_that_another_task_ends_is_not_exceeded_by_its_throughput() {
    for (completed_ms, window_ms, rate) in [(11, 15.0, 200.0), (20, 20.0, 150.0)] {
        let mut race = Race::new(TaskInfo { interval_ns: Some(5 * MS), paced: true, ..info() }, 1);
        let mut recorder = race.recorder(true);
        for due in [0, 5, 10] {
            record(&mut recorder, paced(due * MS, 0, weighing(1, sample(due * MS, (due + 1) * MS - 1))));
        }
        recorder.begin_operation(0, SampleType::Measured);
        recorder.complete_window(0, completed_ms * MS);
        recorder.record(paced(15 * MS, 0, weighing(1, sample(15 * MS, 40 * MS))), None, []);
        end(&mut recorder, EndedBy::CompletedBy, 4);
        let result = race.result();
        assert!((result.window_s * 1e3 - window_ms).abs() < 1e-9, "{}", result.window_s);
        assert!((result.throughput.unwrap().mean - rate).abs() < 1e-9, "{:?}", result.throughput);
    }
}

/// The engine stalls in the warm-up, so that the first measured operations are sent 2.5 s after they were due, and the
/// rest in time. The window begins with the first request, and ends one interval after the last operation was due.
#[test]
fn a_window_that_begins_with_a_backlog_ends_with_the_schedule() {
    for (completed, window_ms, rate) in [(None, 7500.0, 40.0 / 3.0), (Some(5 * SECOND), 2500.0, 20.0)] {
        let mut race = Race::new(TaskInfo { interval_ns: Some(100 * MS), paced: true, ..info() }, 1);
        let mut recorder = race.recorder(true);
        for number in 0..100_u64 {
            let due = number * 100 * MS;
            let sent = due.max(2500 * MS + number * MS);
            if let Some(completed_ns) = completed.filter(|completed_ns| sent >= *completed_ns) {
                recorder.complete_window(0, completed_ns);
            }
            record(&mut recorder, paced(due, sent, weighing(1, sample(sent, sent + MS))));
        }
        let ended_by = if completed.is_some() { EndedBy::CompletedBy } else { EndedBy::Iterations };
        end(&mut recorder, ended_by, 100);
        let result = race.result();
        assert!((result.window_from_s - 2.5).abs() < 1e-9);
        assert!((result.window_s * 1e3 - window_ms).abs() < 1e-9, "{}", result.window_s);
        let throughput = result.throughput.unwrap();
        assert!((throughput.mean - rate).abs() < 1e-9, "{throughput:?}");
        assert!(throughput.min > 0.0, "{throughput:?}");
    }
}

/// Records 400 operations per second with a warm-up of 2 s and a window of 8 s. The engine answers nothing in the first
/// `stall_ms`, and one operation at a time from then on, in `service_us`.
fn after_a_stall(stall_ms: u64, service_us: u64, waited_until_ms: Option<u64>) -> TaskResult {
    let (warmup_ns, end_ns) = (2 * SECOND, 10 * SECOND);
    let info = TaskInfo { warmup_ns: Some(warmup_ns), end_ns: Some(end_ns), paced: true, ..info() };
    let mut race = Race::new(info, 1);
    let mut recorder = race.recorder_of(true, MeasuredWindow::Time { begin_ns: warmup_ns, end_ns });
    let begin_ns = waited_until_ms.map(|begin_ms| begin_ms * MS);
    if let Some(begin_ns) = begin_ns {
        recorder.begin_window(0, DrainedWindow { begin_ns, gave_up: true });
    }
    let (mut free, mut sent_count) = (stall_ms * MS, 0);
    for due in (0..4000).map(|number| number * MS * 5 / 2) {
        let sent = free.max(due);
        if sent >= end_ns {
            break;
        }
        // What begins after a window that waited no longer is measured, whenever it was due.
        let is_warmup = begin_ns.map_or(due < warmup_ns, |begin_ns| due < warmup_ns || sent < begin_ns);
        let sample_type = if is_warmup { SampleType::Warmup } else { SampleType::Measured };
        let one = Sample { sample_type, ..weighing(1, sample(sent, sent + service_us * 1000)) };
        record(&mut recorder, paced(due, free, one));
        (free, sent_count) = (one.times.done_ns, sent_count + 1);
    }
    let unsent = UnsentOperations { total: 4000 - sent_count, warmup: 0 };
    recorder.leave_unsent(0, unsent);
    end(&mut recorder, EndedBy::Time, sent_count);
    race.result()
}

/// 800 operations are left by the warm-up. An engine that is always busy does what it can, and its throughput is that,
/// whether or not some of it was due before; one that works them off does the work of two schedules.
#[test]
fn throughput_is_marked_if_the_window_did_more_than_was_due_in_it() {
    for (stall_ms, service_us, rate, surplus, is_marked) in [
        // No stall, one that is worked off at once, and one that takes nearly all of the window.
        (0, 1000, 400.0, 0, false),
        (2000, 500, 500.0, 800, true),
        (2000, 2040, 490.0, 721, true),
        // Always busy: the queue becomes longer, and stays.
        (0, 3000, 333.3, 0, false),
        (2000, 2500, 400.0, 0, false),
    ] {
        let result = after_a_stall(stall_ms, service_us, None);
        let (backlog, throughput) = (result.warmup_backlog, result.throughput.unwrap());
        assert!((throughput.mean - rate).abs() < 0.5, "{throughput:?}");
        assert_eq!(backlog.throughput_marked, is_marked, "{stall_ms} {service_us} {backlog:?}");
        assert!(backlog.surplus.abs_diff(surplus) <= 2, "{stall_ms} {service_us} {backlog:?}");
    }
}

/// The window begins halfway although the backlog is not gone: what is measured was due before.
#[test]
fn operations_that_were_due_before_a_window_that_waited_in_vain_are_a_surplus() {
    let result = after_a_stall(3500, 1500, Some(5000));
    let drain = result.warmup_backlog.drain.unwrap();
    assert!(drain.gave_up && (result.window_from_s - 5.0).abs() < 1e-9, "{drain:?}");
    // 1,400 are left at 3.5 s. At 5 s, 1,000 are done and 1,000 are left, which is the surplus of the window.
    assert!(result.warmup_backlog.surplus.abs_diff(1000) <= 2, "{:?}", result.warmup_backlog);
    assert!(result.warmup_backlog.throughput_marked);
}

/// The window of iterations begins with its first request, and is shorter than their schedule if they are sent late.
#[test]
fn iterations_that_fill_less_time_than_their_schedule_have_a_surplus() {
    for (warmup, interval_ns, stall_ms, surplus) in [
        (10, Some(100 * MS), 2500, 15),
        (10, None, 2500, 15),
        (10, Some(100 * MS), 0, 0),
        // Without a warm-up, all that waited is measured.
        (0, Some(100 * MS), 2500, 0),
    ] {
        let mut race = Race::new(TaskInfo { interval_ns, paced: true, ..info() }, 1);
        let mut recorder = race.recorder(true);
        for number in 0..100_u64 {
            let due = number * 100 * MS;
            let sent = due.max(stall_ms * MS + number * MS);
            let sample_type = if number < warmup { SampleType::Warmup } else { SampleType::Measured };
            let one = Sample { sample_type, ..weighing(1, sample(sent, sent + MS)) };
            record(&mut recorder, paced(due, sent, one));
        }
        end(&mut recorder, EndedBy::Iterations, 100);
        let backlog = race.result().warmup_backlog;
        assert!(backlog.surplus.abs_diff(surplus) <= 1, "{warmup} {interval_ns:?} {stall_ms} {backlog:?}");
        assert_eq!(backlog.throughput_marked, surplus > 0);
    }
}
