//! Throughput and schedules.

use std::time::Duration;

use serde_json::{Value, json};

use super::{MS, counted, paced};
use crate::support::samples::beginning;
use crate::support::server::{Answer, response_with_took};
use crate::support::{LoggedRequest, Sample, Server, json_response, plan, request_task, run, step};

const SECOND: i64 = 1_000_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns the work that ended in each whole second.
fn by_second(samples: &[Sample], seconds: std::ops::Range<i64>) -> Vec<i64> {
    let work = |second| samples.iter().filter(|one| one.done / SECOND == second).map(|one| one.weight).sum();
    seconds.map(work).collect()
}

/// Returns the number of operations that were due before a second began and ended after it had begun, because the
/// engine or the machine stalled.
fn carried(samples: &[Sample], second: i64) -> i64 {
    let over = |one: &&Sample| one.due < second * SECOND && one.done >= second * SECOND;
    samples.iter().filter(over).count() as i64
}

/// Asserts that no operation was sent before it was due, and that at no time, on the server's clock, had more requests
/// arrived than were due.
fn assert_no_request_was_early(samples: &[Sample], seen: &[LoggedRequest]) {
    assert!(samples.iter().all(|sample| sample.sent >= sample.due));
    let begin = *beginning(samples, seen).start();
    let mut due: Vec<i64> = samples.iter().map(|sample| sample.due).collect();
    due.sort_unstable();
    assert_eq!(due.len(), seen.len());
    for (number, (request, due)) in seen.iter().zip(due).enumerate() {
        let arrived = request.arrived.cast_signed() - begin;
        assert!(arrived >= due, "request {number} arrived {} µs before it was due", (due - arrived) / 1000);
    }
}

/// [1] 133/s for 3 s: 133 operations are due in every second. During warm-up, the engine stalls for 0.4 s, so its rate
/// is 0 and then briefly much higher; a mean since the start of the task would include both.
#[test]
fn a_steady_133_per_second_is_reported_as_133_after_any_warm_up() {
    let server = Server::stalling(&[ms(100)..ms(500)], |_, before| response_with_took(before));
    let race = run(&plan(server.port, &[paced("search", 4, 133.0, (1.0, 2.0))]));
    let (result, samples) = (race.task("search"), &race.samples);
    let throughput = result.throughput.unwrap();
    let seconds = by_second(samples, 1..3);
    let late = result.operation_totals.unsent as i64;
    let pushed = [carried(samples, 1), carried(samples, 2), carried(samples, 3) + late];
    // Every operation is counted in the second in which it ended: the second in which it was due, or a later one.
    assert_eq!((throughput.min, throughput.max), ends(&seconds));
    assert_eq!(seconds, [133 + pushed[0] - pushed[1], 133 + pushed[1] - pushed[2]]);
    let delayed = *pushed.iter().max().unwrap() as f64;
    for value in [throughput.min, throughput.median, throughput.mean, throughput.max] {
        assert!((value - 133.0).abs() <= 2.0 + delayed, "{throughput:?}, {pushed:?} operations ended later");
    }
    assert!((throughput.mean - (266 + pushed[0] - pushed[2]) as f64 / 2.0).abs() < 1e-9, "{throughput:?}");
}

fn ends(seconds: &[i64]) -> (f64, f64) {
    (*seconds.iter().min().unwrap() as f64, *seconds.iter().max().unwrap() as f64)
}

/// [1] At a steady 133/s, the engine stalls from 0.4 to 1.4 s: only the 53 operations of the first 0.4 s end in the
/// first second; the 80 delayed ones end in the next second, together with its own 133. The sum is the 266 operations
/// that were due.
#[test]
fn a_stall_lowers_the_minimum_and_the_mean_stays_correct() {
    let server = Server::stalling(&[ms(400)..ms(1400)], |_, before| response_with_took(before));
    let race = run(&plan(server.port, &[paced("search", 4, 133.0, (0.0, 2.0))]));
    let (result, samples) = (race.task("search"), &race.samples);
    let throughput = result.throughput.unwrap();
    let seconds = by_second(samples, 0..2);
    assert_eq!((throughput.min, throughput.max), ends(&seconds));
    let (held, after) = (carried(samples, 1), carried(samples, 2) + result.operation_totals.unsent as i64);
    // The stall's times are relative to the first request, which arrives shortly after the start of the task.
    let first = server.requests()[0].arrived.cast_signed() - beginning(samples, &server.requests()).start();
    assert!(held >= (600 * MS - first) * 133 / SECOND - 1, "{held} operations were delayed");
    assert_eq!(seconds, [133 - held, 133 + held - after]);
    assert!((throughput.mean - (266 - after) as f64 / 2.0).abs() < 1e-9, "{throughput:?}");
}

/// [2] Unpaced, with responses after 30 ms, 0.1 s of warm-up and 1.25 s of measurement: work that ended in the measured
/// window counts, even if it began during warm-up or ended in the last quarter of a second; work that ended after the
/// window does not.
#[test]
fn work_counts_when_it_ends_even_in_the_last_fraction_of_a_second() {
    let server = Server::start(|_, before| Answer::from(response_with_took(before)).after(ms(30)));
    let mut timed = request_task("timed", 3, 1);
    timed["bound"] = json!({"kind": "time", "warmup_s": 0.1, "measured_s": 1.25});
    timed["work"]["calls"][0]["weight"] = 7.into();
    let mut counted = request_task("counted", 2, 20);
    counted["bound"] = json!({"kind": "iterations", "warmup": 5, "measured": 20});
    let tasks = [timed, counted];
    let mut plan = plan(server.port, &tasks);
    plan["steps"] = json!([step(&tasks, &[0, 1])]);
    let race = run(&plan);
    let of = |task: &'static str| race.samples.iter().filter(move |sample| sample.task == task);
    let timed = race.task("timed");
    let inside: i64 =
        of("timed").filter(|one| (100 * MS..1350 * MS).contains(&one.done)).map(|one| one.weight).sum();
    let throughput = timed.throughput.unwrap();
    assert!((throughput.mean - inside as f64 / 1.25).abs() < 1e-9, "{throughput:?} {inside}");
    assert_eq!(timed.work.weight as i64, of("timed").map(|one| one.weight).sum::<i64>());
    assert!(
        of("timed").any(|one| one.warmup && one.done > 100 * MS),
        "no operation was in flight when the warm-up ended"
    );
    // The expected mean is all measured work, divided by the time from its first request to its last response.
    let measured: Vec<&Sample> = of("counted").filter(|one| !one.warmup).collect();
    let begin = measured.iter().map(|one| one.sent).min().unwrap();
    let end = measured.iter().map(|one| one.done).max().unwrap();
    let mean = race.task("counted").throughput.unwrap().mean;
    assert!((mean - 40.0 * SECOND as f64 / (end - begin) as f64).abs() < 1e-6, "{mean}");
}

/// One client runs three tasks: the two with a schedule serve it from their beginning, closed loop or not. An open loop
/// would also count an operation that was due before its client was free as one that waited.
#[test]
fn a_client_that_begins_a_task_after_another_one_sends_its_first_operation() {
    let server = Server::start(|_, before| response_with_took(before));
    for (open_loop, count) in [(false, 3_u32), (true, 1)] {
        let mut tasks = [
            request_task("before", 1, 2),
            counted("counted", 1, 20.0, count.into()),
            paced("timed", 1, 20.0, (0.0, f64::from(count) / 20.0)),
        ];
        for task in &mut tasks[1..] {
            task["open_loop"] = open_loop.into();
        }
        let mut plan = plan(server.port, &tasks);
        let allocations = [0, 1, 2].map(|task| json!({"task": task, "client": 0}));
        plan["steps"] = json!([{"name": "step", "client_allocations": [{"client": 0, "allocations": allocations}], "completed_by": null}]);
        let race = run(&plan);
        let due: Vec<i64> =
            race.samples.iter().filter(|one| one.task == "counted").map(|one| one.due).collect();
        assert_eq!(due, (0..i64::from(count)).map(|number| number * 50 * MS).collect::<Vec<_>>());
        let timed = race.task("timed").operation_totals;
        assert_eq!(timed.begun + timed.unsent, u64::from(count), "open loop: {open_loop}");
        if open_loop {
            assert_eq!((race.task("counted").operation_totals.waited, timed.waited), (0, 0));
        }
    }
}

/// [10] 50/s for 0.4 s, and requests fail immediately from the first one on: 20 requests, one every 20 ms, none of them
/// early.
#[test]
fn a_task_that_fails_keeps_its_rate() {
    let server = Server::start(|_, before| {
        // Two responses are numbered, so that clocks can be compared.
        if matches!(before, 10 | 19) { response_with_took(before) } else { json_response(503, &json!({})) }
    });
    let race = run(&plan(server.port, &[counted("search", 2, 50.0, 10)]));
    let (result, seen) = (race.task("search"), server.requests());
    assert_eq!((seen.len(), result.operation_totals.failed, result.operation_totals.requests), (20, 18, 20));
    let mut due: Vec<i64> = race.samples.iter().map(|sample| sample.due).collect();
    due.sort_unstable();
    assert_eq!(due, (0..20).map(|number| number * 20 * MS).collect::<Vec<_>>());
    assert_no_request_was_early(&race.samples, &seen);
}

/// [8] 40/s over 2 clients, the second of which starts 0.25 s after the first: the first sends 20/s from 0 s, the
/// second sends 20/s from one interval after 0.25 s. If it caught up, 5 of its requests would arrive at the same time.
#[test]
fn a_client_that_ramps_up_late_never_exceeds_its_rate() {
    let server = Server::start(|_, before| response_with_took(before));
    let mut task = counted("search", 2, 40.0, 8);
    task["ramp_up_s"] = 0.5.into();
    let race = run(&plan(server.port, &[task]));
    for client in 0..2 {
        let due: Vec<i64> =
            race.samples.iter().filter(|one| one.client == client).map(|one| one.due).collect();
        let expected: Vec<i64> = (0..8).map(|number| client * 275 * MS + number * 50 * MS).collect();
        assert_eq!(due, expected);
    }
    let seen = server.requests();
    assert_no_request_was_early(&race.samples, &seen);
}

/// [9] 500/s over 5 clients: one request every 2 ms, never two at the same time, and none of them early.
#[test]
fn clients_never_send_at_the_same_time() {
    let server = Server::start(|_, before| response_with_took(before));
    let race = run(&plan(server.port, &[counted("search", 5, 500.0, 30)]));
    let mut due: Vec<i64> = race.samples.iter().map(|sample| sample.due).collect();
    due.sort_unstable();
    assert_eq!(due, (0..150).map(|number| number * 2 * MS).collect::<Vec<_>>());
    for client in 0..5 {
        let first = race.samples.iter().filter(|one| one.client == client).map(|one| one.due).min();
        assert_eq!(first, Some(client * 2 * MS));
    }
    let seen = server.requests();
    assert_no_request_was_early(&race.samples, &seen);
}

/// [18] 10 requests that all fail: no work during the measured time is a throughput of 0, not a missing value.
#[test]
fn no_work_is_a_throughput_of_zero() {
    let server = Server::start(|_, _| Answer::from(json_response(500, &json!({}))).after(ms(1)));
    let race = run(&plan(server.port, &[request_task("search", 2, 5)]));
    let result = race.task("search");
    let throughput = result.throughput.expect("the throughput is missing");
    assert!(throughput.max.abs() < f64::EPSILON && throughput.mean.abs() < f64::EPSILON, "{throughput:?}");
    assert!(result.error_rate == Some(1.0) && result.service_time.is_none());
}

/// [12] A task with many clients is followed by a task with 2 clients that send without pause for a second: each of the
/// 2 workers runs one of these, and both workers use about the same CPU time.
#[test]
fn two_clients_of_a_small_task_keep_two_threads_busy() {
    let server = Server::start(|_, before| response_with_took(before));
    let mut small = request_task("small", 2, 1);
    small["bound"] = json!({"kind": "time", "warmup_s": 0.0, "measured_s": 1.05});
    let race = run(&plan(server.port, &[request_task("wide", 8, 5), small]));
    let workers = race.summary.threads.iter().filter(|thread| thread.name.starts_with("drive-"));
    let busiest: Vec<_> = workers.map(|thread| thread.busiest.as_ref().unwrap().share).collect();
    let (least, most) = (busiest[0].min(busiest[1]), busiest[0].max(busiest[1]));
    assert_eq!(busiest.len(), 2);
    assert!(least > most / 10.0, "{busiest:?}");
}

/// [16] The server's responses contain only a lower bound of the total number of hits: paging continues until a page
/// that is not full.
#[test]
fn pages_end_with_the_page_that_is_not_full() {
    let page = |first: u64, hits: u64| -> Value {
        let hits: Vec<Value> =
            (first..first + hits).map(|number| json!({"_id": "x", "sort": [number]})).collect();
        json!({"took": 1, "timed_out": false, "_shards": {"failed": 0},
               "hits": {"total": {"value": 30, "relation": "gte"}, "hits": hits}})
    };
    // 13 pages of 10 and one of 4: paging does not end at the total of 30.
    let server = Server::start(move |_, before| {
        json_response(200, &page(10 * before as u64, if before < 13 { 10 } else { 4 }))
    });
    let mut task = request_task("paged", 1, 1);
    let mut first = task["work"]["calls"][0].take();
    first["method"] = "POST".into();
    first["body"] = json!({"size": 10, "sort": ["_doc"]}).to_string().into();
    first.as_object_mut().unwrap().remove("kind");
    task["work"]["calls"][0] = json!({"kind": "pages", "first": first, "next": {"kind": "search_after"},
        "pages": null, "page_size": 10, "strict": false});
    let race = run(&plan(server.port, &[task]));
    let result = race.task("paged");
    assert_eq!((server.requests().len(), result.work.weight, result.operation_totals.failed), (14, 14, 0));
}
