//! The begin and the end of measured windows.

use pacenote_record::{EndedBy, MeasuredWindow, Sample, SampleType, TaskInfo, Throughput};

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
