//! Passes data from recorders through the collector to results and files, as the driver does.

use pacenote_record::{
    DrainSummary, DrainedWindow, EndedBy, ErrorClass, Failure, FailureUnit, MeasuredWindow, OperationTimes,
    RetentionPolicy, Sample, SampleResult, SampleType, SubOperationName, TaskInfo, Throughput, Traffic,
};
use pacenote_stats::{SteadinessMetric, SteadyState};

use crate::support::{
    MS, Race, SECOND, close_files, end, failing, failure, info, paced, record, rows, sample, weighing,
};

#[test]
fn the_data_of_two_workers_is_one_result_and_every_sample_is_on_disk() {
    let mut race = Race::new(info(), 2);
    let mut recorders = [race.recorder(false), race.recorder(false)];
    for number in 0..40_000_u64 {
        let sent = number * MS / 10;
        record(&mut recorders[(number % 2) as usize], sample(sent, sent + 5 * MS));
    }
    for recorder in &mut recorders {
        end(recorder, EndedBy::Source, 20_000);
    }
    let result = race.result();
    assert_eq!(result.operation_totals.succeeded, 40_000);
    assert_eq!((result.work.weight, result.bytes_out), (400_000, 4_000_000));
    let accounting = result.operation_totals;
    assert_eq!((result.content_out, result.content_in, accounting.reconnects), (16_000_000, 800_000, 40_000));
    assert_eq!(result.service_time.as_ref().unwrap().count, 40_000);
    assert!((result.service_time.unwrap().mean_ms - 5.0).abs() < 1e-9);
    assert!(result.latency.is_none() && result.lateness.is_none());
    // 10,000 operations per second, each of weight 10, from the first request at 0 s to the last response at 4.0049 s.
    let throughput = result.throughput.unwrap();
    assert!((throughput.mean - 400_000.0 / 4.004_9).abs() < 0.1, "{throughput:?}");
    assert!((throughput.median - 100_000.0).abs() < f64::EPSILON, "{throughput:?}");
    let Race { collector, folder, .. } = race;
    assert_eq!(close_files(collector), 40_000);
    assert_eq!(rows(&folder.path().join("samples.parquet")).len(), 40_000);
    let text = rows(&folder.path().join("series.parquet"))[0].to_string();
    assert!(text.contains("index") && text.contains("normal"), "{text}");
    assert!(!folder.path().join("series.jsonl").exists());
}

#[test]
fn a_time_based_task_counts_only_the_work_in_its_window() {
    let mut race = Race::new(
        TaskInfo { warmup_ns: Some(2 * SECOND), end_ns: Some(5 * SECOND), paced: true, ..info() },
        1,
    );
    let measured = MeasuredWindow::Time { begin_ns: 2 * SECOND, end_ns: 5 * SECOND };
    let mut recorder = race.recorder_of(true, measured);
    // A slow warm-up at 1 operation per second, then a steady 4 per second until 5 s; one operation ends after the
    // window.
    for (sent, sample_type) in [(0, SampleType::Warmup), (1000, SampleType::Warmup)]
        .into_iter()
        .chain((0..12).map(|number| (2000 + number * 250, SampleType::Measured)))
    {
        let one = sample(sent * MS, (sent + 249) * MS);
        let due = sent * MS - sent.min(1) * MS;
        record(&mut recorder, paced(due, 0, Sample { sample_type, ..one }));
    }
    record(&mut recorder, paced(4990 * MS, 0, sample(4990 * MS, 5100 * MS)));
    recorder.begin_operation(0, SampleType::Measured);
    recorder.begin_waited(0);
    end(&mut recorder, EndedBy::Time, 16);
    let result = race.result();
    let throughput = result.throughput.unwrap();
    assert_eq!(
        (throughput.min, throughput.mean, throughput.median, throughput.max),
        (40.0, 40.0, 40.0, 40.0)
    );
    assert!((result.window_s - 3.0).abs() < 1e-9);
    assert_eq!(
        (
            result.operation_totals.warmup,
            result.operation_totals.measured,
            result.operation_totals.unanswered
        ),
        (2, 13, 1)
    );
    assert_eq!((result.operation_totals.begun, result.operation_totals.waited), (16, 1));
    // Lateness is 1 ms by construction, and latency is service time plus lateness.
    let lateness = result.lateness.unwrap();
    assert!((lateness.max_ms - 1.0).abs() < 1e-9, "{lateness:?}");
    assert!((result.latency.unwrap().max_ms - 250.0).abs() < 1e-9);
}

/// The warm-up fails, and an operation that is due in the window ends after it.
#[test]
fn operations_of_the_window_are_counted_whatever_their_outcome() {
    let mut race =
        Race::new(TaskInfo { warmup_ns: Some(SECOND), end_ns: Some(3 * SECOND), paced: true, ..info() }, 1);
    let measured = MeasuredWindow::Time { begin_ns: SECOND, end_ns: 3 * SECOND };
    let mut recorder = race.recorder_of(true, measured);
    let classes = [ErrorClass::HttpStatus, ErrorClass::Timeout, ErrorClass::BulkItem, ErrorClass::None];
    for number in 0..30_u64 {
        let sent = number * 100 * MS;
        let one = sample(sent, sent + 10 * MS);
        let warmup = Sample { sample_type: SampleType::Warmup, ..failing(ErrorClass::HttpStatus, 1, one) };
        let one = match classes[(number % 4) as usize] {
            _ if number < 10 => warmup,
            ErrorClass::None => one,
            class => failing(class, 1, one),
        };
        record(&mut recorder, paced(sent, 0, one));
    }
    record(&mut recorder, paced(2999 * MS, 0, sample(2999 * MS, 3001 * MS)));
    end(&mut recorder, EndedBy::Time, 31);
    let result = race.result();
    assert_eq!((result.operation_totals.warmup, result.operation_totals.measured), (10, 21));
    assert_eq!((result.window_operations, result.window_succeeded), (20, 5));
    // Of every four operations, the engine reports the failure of two; a timeout may be the driver's fault.
    assert_eq!(result.reported_failures, 10);
}

/// The warm-up was planned to end after 1 s. One worker ends before the other one knows when the window begins.
#[test]
fn a_window_that_waited_for_the_backlog_is_shorter() {
    let mut race = Race::new(
        TaskInfo { warmup_ns: Some(SECOND), end_ns: Some(5 * SECOND), paced: true, clients: 2, ..info() },
        2,
    );
    let planned = MeasuredWindow::Time { begin_ns: SECOND, end_ns: 5 * SECOND };
    let latest = DrainedWindow { begin_ns: 3 * SECOND, gave_up: true };
    let mut idle = race.recorder_of(true, planned);
    idle.begin_window(0, latest);
    end(&mut idle, EndedBy::Time, 0);
    let mut recorder = race.recorder_of(true, planned);
    for number in 0..50_u64 {
        let due = number * 100 * MS;
        let is_known = due >= 2 * SECOND;
        let window = DrainedWindow { begin_ns: 2 * SECOND, gave_up: false };
        recorder.begin_window(0, if is_known { window } else { latest });
        let sample_type = if is_known { SampleType::Measured } else { SampleType::Warmup };
        record(&mut recorder, paced(due, 0, Sample { sample_type, ..sample(due, due + 10 * MS) }));
    }
    end(&mut recorder, EndedBy::Time, 50);
    let result = race.result();
    assert_eq!((result.window_from_s, result.window_s, result.window_operations), (2.0, 3.0, 30));
    let expected = 10.0 * sample(0, 1).result.weight as f64;
    assert!((result.throughput.unwrap().mean - expected).abs() < 1e-9, "{:?}", result.throughput);
    let drain = DrainSummary { window_from_s: Some(2.0), operations: 0, gave_up: false };
    assert_eq!(result.warmup_backlog.drain, Some(drain));
}

#[test]
fn traffic_that_belongs_to_no_operation_is_part_of_the_totals() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    record(&mut recorder, sample(0, SECOND));
    recorder.record_other_traffic(0, sample(0, SECOND).traffic);
    end(&mut recorder, EndedBy::Iterations, 1);
    let result = race.result();
    assert_eq!((result.operation_totals.requests, result.operation_totals.reconnects), (2, 2));
    let bytes = [result.bytes_out, result.bytes_in, result.content_out, result.content_in];
    assert_eq!(bytes, [200, 100, 800, 40]);
}

#[test]
fn work_that_exceeds_what_can_be_counted_has_no_throughput() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for number in 0..3 {
        let heavy = weighing(u64::MAX / 2, sample(number * 400 * MS, (number * 400 + 399) * MS));
        record(&mut recorder, heavy);
        record(&mut recorder, failing(ErrorClass::Plugin, u64::MAX, heavy));
    }
    end(&mut recorder, EndedBy::Iterations, 6);
    let result = race.result();
    assert_eq!(
        (result.work.weight, result.work.failed_weight, result.throughput),
        (i64::MAX as u64, i64::MAX as u64, None)
    );
}

#[test]
fn seconds_with_little_of_the_work_do_not_represent_the_window() {
    for (ends, spread) in [
        // With one operation of 2.7 s, no work ends in the whole seconds.
        (vec![2700], None),
        // A single second has no spread.
        (vec![500, 900, 1300], None),
        // Two of the five operations ended after the last whole second.
        (vec![500, 1500, 1900, 2300, 2400], Some((1.0, 1.5, 2.0))),
    ] {
        let mut race = Race::new(info(), 1);
        let mut recorder = race.recorder(false);
        for done in &ends {
            record(&mut recorder, weighing(1, sample(0, done * MS)));
        }
        end(&mut recorder, EndedBy::Iterations, ends.len() as u64);
        let throughput = race.result().throughput.unwrap();
        let mean = throughput.mean;
        let shown = (throughput.min, throughput.median, throughput.max);
        assert_eq!(shown, spread.unwrap_or((mean, mean, mean)), "{ends:?}");
    }
}

#[test]
fn operations_slower_than_a_second_have_the_mean_for_all_figures() {
    // Replies of 2.5 s and of 1.9 s to one client, and of 2.5 s to eight clients at once.
    for (clients, service_ms, rate) in [(1, 2500, 0.4), (1, 1900, 1.0 / 1.9), (8, 2500, 3.2)] {
        let mut race = Race::new(info(), 1);
        let mut recorder = race.recorder(false);
        for number in 0..8 {
            for _ in 0..clients {
                let (sent, done) = (number * service_ms * MS, (number + 1) * service_ms * MS);
                record(&mut recorder, weighing(1, sample(sent, done)));
            }
        }
        end(&mut recorder, EndedBy::Iterations, 8 * clients);
        let Throughput { min, mean, median, max } = race.result().throughput.unwrap();
        for figure in [min, mean, median, max] {
            assert!((figure - rate).abs() < 1e-9, "{clients} × {service_ms} ms: {figure}");
        }
    }
}

#[test]
fn a_retried_operation_begins_with_its_first_attempt() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    let retried = weighing(1, sample(1999 * MS, 2000 * MS));
    let times = OperationTimes { first_sent_ns: 0, ..retried.times };
    record(&mut recorder, Sample { times, ..retried });
    end(&mut recorder, EndedBy::Iterations, 1);
    let result = race.result();
    assert!((result.throughput.unwrap().mean - 0.5).abs() < 1e-9, "{:?}", result.throughput);
    assert!((result.service_time.unwrap().max_ms - 1.0).abs() < 1e-9);
}

#[test]
fn a_task_with_only_failures_has_a_throughput_of_0() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    record(&mut recorder, failing(ErrorClass::Timeout, 0, sample(0, SECOND)));
    end(&mut recorder, EndedBy::Iterations, 1);
    assert!(race.result().throughput.unwrap().mean.abs() < f64::EPSILON);
}

#[test]
fn progress_shows_the_last_whole_second() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for number in 0..3001_u64 {
        record(&mut recorder, weighing(1, sample(number * MS, number * MS)));
    }
    recorder.flush();
    race.collect();
    let progress = race.collector.progress(3001 * MS);
    assert!((progress[0].rate - 1000.0).abs() < f64::EPSILON, "{progress:?}");
}

#[test]
fn progress_of_a_task_with_a_schedule_shows_latency_and_lateness() {
    for is_paced in [true, false] {
        let mut race = Race::new(TaskInfo { paced: is_paced, ..info() }, 1);
        let mut recorder = race.recorder(is_paced);
        for number in 1..300_u64 {
            // Sent 2 ms after it was due, and done 5 ms later.
            let sent = number * 10 * MS;
            let one = sample(sent, sent + 5 * MS);
            record(&mut recorder, if is_paced { paced(sent - 2 * MS, 0, one) } else { one });
        }
        recorder.flush();
        race.collect();
        let progress = race.collector.progress(3000 * MS);
        let about = |value: Option<f64>, ms: f64| value.is_some_and(|value| (value / ms - 1.0).abs() < 0.01);
        assert_eq!(progress[0].has_latency, is_paced);
        assert!(about(progress[0].p50_ms, if is_paced { 7.0 } else { 5.0 }), "{progress:?}");
        assert_eq!(about(progress[0].late_p99_ms, 2.0), is_paced, "{progress:?}");
    }
}

#[test]
fn progress_shows_no_rate_before_a_second_is_over() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for number in 0..500_u64 {
        record(&mut recorder, weighing(1, sample(number * MS, number * MS)));
    }
    recorder.flush();
    race.collect();
    let progress = race.collector.progress(500 * MS);
    assert_eq!((progress[0].rate, progress[0].p50_ms, progress[0].ended), (0.0, None, 500));
}

#[test]
fn progress_includes_the_last_whole_second_of_a_slow_worker() {
    let mut race = Race::new(info(), 2);
    let (mut fast, mut slow) = (race.recorder(false), race.recorder(false));
    for done in [0, 2100 * MS] {
        record(&mut fast, weighing(1, sample(done, done)));
    }
    fast.flush();
    record(&mut slow, weighing(5, sample(1500 * MS, 1600 * MS)));
    slow.flush();
    race.collect();
    let progress = race.collector.progress(2200 * MS);
    assert!((progress[0].rate - 5.0).abs() < f64::EPSILON, "{progress:?}");
}

#[test]
fn a_task_of_which_nothing_was_measured_has_no_error_rate() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    let warmup = Sample { sample_type: SampleType::Warmup, ..sample(0, MS) };
    record(&mut recorder, failing(ErrorClass::Timeout, 0, warmup));
    end(&mut recorder, EndedBy::Source, 1);
    let result = race.result();
    assert_eq!((result.error_rate, result.operation_totals.failed), (None, 1));
    assert_eq!(serde_json::to_value(&result).unwrap()["error_rate"], serde_json::Value::Null);
}

/// Only measured operations count whose failures all tell that the engine cannot keep up, and that it reported itself.
#[test]
fn operations_that_an_overloaded_engine_rejects_are_counted_among_those_it_reports() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    let of = |error_class, status, count| Failure { status, count, ..failure(error_class, "x") };
    let (http, item) = (ErrorClass::HttpStatus, ErrorClass::BulkItem);
    let cases = [
        (SampleType::Measured, http, vec![of(http, 429, 1)]),
        (SampleType::Measured, http, vec![of(http, 503, 1)]),
        (SampleType::Measured, http, vec![of(http, 400, 1)]),
        // 500 documents of one bulk; another one was also rejected for a reason that the load does not explain.
        (SampleType::Measured, item, vec![of(item, 429, 500)]),
        (SampleType::Measured, item, vec![of(item, 429, 400), of(item, 400, 1)]),
        (SampleType::Measured, ErrorClass::SearchTimeout, vec![of(ErrorClass::SearchTimeout, 200, 1)]),
        // A timeout may be due to the driver.
        (SampleType::Measured, ErrorClass::Timeout, vec![of(ErrorClass::Timeout, 0, 1)]),
        (SampleType::Warmup, http, vec![of(http, 429, 1)]),
    ];
    let count = cases.len() as u64;
    for (number, (sample_type, class, failures)) in (0..).zip(cases) {
        let one = failing(class, 1, sample(number * MS, (number + 1) * MS));
        recorder.begin_operation(0, sample_type);
        recorder.record(Sample { sample_type, ..one }, None, failures);
    }
    end(&mut recorder, EndedBy::Iterations, count);
    let result = race.result();
    assert_eq!((result.reported_failures, result.overload_failures), (6, 4));
}

#[test]
fn operations_whose_connection_could_not_be_opened_have_no_lateness() {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    let unconnected = |number: u64, one: Sample| match number {
        // The connection broke after a request was sent.
        1 => failing(ErrorClass::Tls, 1, one),
        7..=8 => {
            let error_class = if number == 7 { ErrorClass::Connect } else { ErrorClass::Tls };
            failing(error_class, 1, Sample { traffic: Traffic::default(), ..one })
        }
        _ => one,
    };
    for number in 0..10 {
        let late = if number == 7 || number == 8 { SECOND } else { MS };
        let one = sample(number * SECOND + late, number * SECOND + late);
        record(&mut recorder, paced(number * SECOND, 0, unconnected(number, one)));
    }
    end(&mut recorder, EndedBy::Iterations, 10);
    let lateness = race.result().lateness.unwrap();
    assert_eq!(lateness.count, 8);
    assert!((lateness.max_ms - 1.0).abs() < 1e-9, "{lateness:?}");
}

#[test]
fn operations_that_were_due_before_a_client_was_free_have_waited() {
    let mut race = Race::new(TaskInfo { paced: true, open_loop: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    for (due, free) in [(0, 0), (1, 0), (2, 3), (3, 3), (4, 9)] {
        record(&mut recorder, paced(due * MS, free * MS, sample(10 * MS, 11 * MS)));
    }
    end(&mut recorder, EndedBy::Iterations, 5);
    let result = race.result();
    assert_eq!(
        (result.operation_totals.waited, result.operation_totals.begun, result.open_loop),
        (2, 5, true)
    );
}

#[test]
fn an_operation_without_a_due_time_has_no_lateness() {
    let mut race = Race::new(TaskInfo { paced: true, ..info() }, 1);
    let mut recorder = race.recorder(true);
    for number in 0..10 {
        let sent = number * 100 * MS;
        record(&mut recorder, paced(sent, 0, sample(sent + 5 * MS, sent + 20 * MS)));
    }
    // The source of the task fails.
    record(&mut recorder, failing(ErrorClass::Plugin, 0, sample(2 * SECOND, 2 * SECOND)));
    end(&mut recorder, EndedBy::Source, 11);
    let lateness = race.result().lateness.unwrap();
    assert_eq!(lateness.count, 10);
    assert!((lateness.min_ms - 5.0).abs() < 1e-9, "{lateness:?}");
}

#[test]
fn failures_have_their_own_histogram_and_reasons() {
    let mut race = Race::new(info(), 1);
    let mut recorder = race.recorder(false);
    for number in 0..100 {
        record(&mut recorder, sample(number * MS, (number + 20) * MS));
        let failed = failing(ErrorClass::HttpStatus, 10, sample(number * MS, (number + 1) * MS));
        let (error_type, reason) = ("rejected".into(), "queue is full".into());
        recorder.begin_operation(0, SampleType::Measured);
        recorder.record(
            failed,
            None,
            [Failure {
                error_class: failed.result.error_class,
                status: 429,
                error_type,
                reason,
                unit: FailureUnit::Operations,
                count: 1,
            }],
        );
    }
    end(&mut recorder, EndedBy::Iterations, 200);
    let result = race.result();
    assert_eq!(result.error_rate, Some(0.5));
    assert!((result.service_time.unwrap().min_ms - 20.0).abs() < 1e-9);
    assert!((result.failed_service_time.unwrap().max_ms - 1.0).abs() < 1e-9);
    assert_eq!((result.work.weight, result.work.failed_weight), (1000, 1000));
    let error = &result.errors[0];
    assert_eq!((error.count, error.status), (100, Some(429)));
    assert_eq!(error.reason, "rejected: queue is full");
}

#[test]
fn sub_operations_are_recorded_separately_from_their_operation() {
    let mut race = Race::new(info(), 2);
    let mut recorders = [race.recorder(false), race.recorder(false)];
    for number in 0..20_u64 {
        let recorder = &mut recorders[(number % 2) as usize];
        let sent = number * 100 * MS;
        let within = weighing(0, sample(sent, sent + 5 * MS));
        // Each worker records the sub-operations in a different order.
        let names = if number % 2 == 0 { ["open", "search"] } else { ["search", "open"] };
        for name in names {
            let failed = number >= 18 && name == "search";
            let error_class = if failed { ErrorClass::Timeout } else { ErrorClass::None };
            let result = SampleResult { error_class, ..within.result };
            let failure = failed.then(|| failure(error_class, "late"));
            let name = SubOperationName { operation: name, operation_type: "search" };
            recorder.record_sub_operation(name, Sample { result, ..within }, None, failure).unwrap();
        }
        let whole = weighing(1, sample(sent, sent + 20 * MS));
        record(recorder, Sample { traffic: Traffic { requests: 2, ..whole.traffic }, ..whole });
    }
    for recorder in &mut recorders {
        end(recorder, EndedBy::Source, 10);
    }
    let result = race.result();
    assert_eq!(
        (result.operation_totals.begun, result.operation_totals.requests, result.work.weight),
        (20, 40, 20)
    );
    assert_eq!((result.service_time.as_ref().unwrap().count, result.errors.len()), (20, 0));
    assert!((result.service_time.unwrap().min_ms - 20.0).abs() < 1e-9);
    assert_eq!(
        result.sub_operations.iter().map(|sub| sub.operation.as_str()).collect::<Vec<_>>(),
        ["open", "search"]
    );
    let [open, search] = &result.sub_operations[..] else { unreachable!() };
    assert_eq!((open.ended, open.failed, search.ended, search.failed), (20, 0, 20, 2));
    assert_eq!((search.service_time.as_ref().unwrap().count, search.requests), (18, 20));
    assert!((search.service_time.as_ref().unwrap().max_ms - 5.0).abs() < 1e-9);
    assert_eq!((search.errors[0].reason.as_str(), search.errors[0].count), ("late", 2));
    assert_eq!(search.error_rate, Some(0.1));
    let Race { collector, folder, .. } = race;
    assert_eq!(close_files(collector), 60);
    let texts = |file: &str| -> Vec<String> {
        rows(&folder.path().join(file)).iter().map(ToString::to_string).collect()
    };
    let count = |texts: &[String], operation: &str, part: bool| {
        let wanted = [format!("operation: \"{operation}\""), format!("part: {part}")];
        texts.iter().filter(|text| wanted.iter().all(|wanted| text.contains(wanted))).count()
    };
    let samples = texts("samples.parquet");
    assert!(samples.iter().all(|text| text.contains("task: \"index\"")), "{}", samples[0]);
    for (operation, part, rows) in [("index-append", false, 20), ("open", true, 20), ("search", true, 20)] {
        assert_eq!(count(&samples, operation, part), rows, "{operation}");
        assert!(count(&texts("series.parquet"), operation, part) >= 2, "{operation}");
    }
}

#[test]
fn samples_that_are_not_kept_are_counted_and_do_not_change_the_result() {
    for (keep, kept) in
        [(RetentionPolicy::None, 0), (RetentionPolicy::All, 100), (RetentionPolicy::Auto, 100)]
    {
        let mut race = Race::keeping(info(), 1, keep);
        let mut recorder = race.recorder(false);
        for number in 0..100 {
            record(&mut recorder, sample(number * MS, (number + 20) * MS));
        }
        end(&mut recorder, EndedBy::Iterations, 100);
        drop(recorder);
        let result = race.result();
        assert_eq!(
            (result.samples.kept, result.samples.left_out, result.samples.lost),
            (kept, 100 - kept, 0)
        );
        assert_eq!(result.samples.missing_from_s, (kept == 0).then_some(0.02));
        assert_eq!((result.operation_totals.begun, result.service_time.unwrap().count), (100, 100));
        assert_eq!(close_files(race.collector), kept);
        assert_eq!(rows(&race.folder.path().join("samples.parquet")).len() as u64, kept);
    }
}

#[test]
fn the_result_says_when_a_task_slowed_down() {
    let end_ns = Some(60 * SECOND);
    let mut race = Race::new(TaskInfo { warmup_ns: Some(0), end_ns, ..info() }, 1);
    let mut recorder = race.recorder_of(false, MeasuredWindow::Time { begin_ns: 0, end_ns: 60 * SECOND });
    for number in 0..6000_u64 {
        let at = number * 10 * MS;
        let slower = if at < 40 * SECOND { 0 } else { 2 * MS };
        record(&mut recorder, sample(at, at + 8 * MS + slower + number % 5 * MS / 100));
    }
    end(&mut recorder, EndedBy::Time, 6000);
    let steady = race.result().steady;
    assert_eq!((steady.state, steady.by), (SteadyState::Slowing, Some(SteadinessMetric::ServiceTime)));
    let [change] = steady.changes[..] else { panic!("{steady:?}") };
    assert!((change.from_s - 40.0).abs() < 1e-9 && (change.share - 0.25).abs() < 0.01, "{change:?}");
    assert_eq!(steady.since_s, Some(40.0));
}
