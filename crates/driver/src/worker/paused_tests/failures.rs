//! Operations that fail: their samples, when the next operation begins, and when the race is aborted.

use pacenote_record::{EndedBy, ErrorClass};
use serde_json::Value;

use super::simulation::{Attempt, MS, Recorded, Response, SECOND, Simulation, TIMEOUT, paced, plan, task};

#[test]
fn a_timeout_ends_its_operation_to_the_nanosecond_and_delays_operations_due_meanwhile() {
    let recorded = Simulation::new(&plan(&[paced("search", 1, 100 * MS, 4)]), |attempt| {
        Response::success(if attempt.number == 1 { 3600 * SECOND } else { 10 * MS })
    })
    .run();
    let expected = [
        (0, 0, 10 * MS),
        (100 * MS, 100 * MS, 100 * MS + TIMEOUT),
        (200 * MS, 300 * MS, 310 * MS),
        (300 * MS, 310 * MS, 320 * MS),
    ];
    assert_eq!(recorded.times(0), expected);
    let classes: Vec<&str> = recorded.of(0).map(|one| one.result.error_class.name()).collect();
    assert_eq!(classes, ["", "timeout", "", ""]);
    assert_eq!((recorded.aborted, recorded.ended[&0].ended_by), (None, EndedBy::Iterations));
}

#[test]
fn an_unpaced_client_without_a_server_pauses_between_its_operations() {
    let recorded = Simulation::new(&plan(&[task("search", 1, 3)]), |attempt| {
        Response::failure(MS, if attempt.number < 2 { ErrorClass::Connect } else { ErrorClass::HttpStatus })
    })
    .run();
    let sent: Vec<u64> = recorded.of(0).map(|one| one.times.service_start_ns / MS).collect();
    assert_eq!((sent, recorded.end_ns), (vec![0, 101, 202], 203 * MS));
    // The pause does not count as the driver's lateness.
    assert!(recorded.of(0).all(|sample| sample.times.latency_ns() == MS));
}

#[test]
fn a_paced_client_without_a_server_keeps_its_schedule() {
    let refused = |_| Response::failure(MS, ErrorClass::Connect);
    let recorded = Simulation::new(&plan(&[paced("search", 2, 10 * MS, 5)]), refused).run();
    let sent: Vec<u64> = recorded.of(0).map(|one| one.times.service_start_ns / MS).collect();
    assert_eq!(sent, (0..10).map(|number| number * 10).collect::<Vec<_>>());
}

/// Runs a task whose third operation of five fails.
fn run_with_policy(on_error: &str, class: ErrorClass, tolerates_errors: bool) -> Recorded {
    let mut failing = task("search", 1, 5);
    failing["tolerates_errors"] = tolerates_errors.into();
    let mut plan: Value = plan(&[failing]);
    plan["driver"]["on_error"] = on_error.into();
    let script = move |attempt: Attempt| {
        if attempt.number == 2 { Response::failure(10 * MS, class) } else { Response::success(10 * MS) }
    };
    Simulation::new(&plan, script).run()
}

#[test]
fn the_plan_determines_which_failure_aborts_the_race() {
    let unreachable = "engine:9200 cannot be reached in task search: as scripted";
    for (on_error, class, tolerates_errors, reason) in [
        ("continue-on-network", ErrorClass::HttpStatus, false, None),
        ("continue-on-network", ErrorClass::Connect, false, None),
        ("continue-on-network", ErrorClass::Assertion, true, Some("task search: as scripted")),
        ("continue", ErrorClass::HttpStatus, false, None),
        ("continue", ErrorClass::Connect, true, Some(unreachable)),
        ("abort", ErrorClass::HttpStatus, true, None),
        ("abort", ErrorClass::HttpStatus, false, Some("task search failed (http-status)")),
    ] {
        let recorded = run_with_policy(on_error, class, tolerates_errors);
        let operations = if reason.is_some() { 3 } else { 5 };
        assert_eq!(
            (recorded.aborted.as_deref(), recorded.of(0).count()),
            (reason, operations),
            "{on_error} {class:?}"
        );
        let by = if reason.is_some() { EndedBy::Aborted } else { EndedBy::Iterations };
        assert_eq!(recorded.ended[&0].ended_by, by, "{on_error} {class:?}");
    }
}
