//! Schedules of closed loops: when operations are due, when they are sent, and which are warm-up.

use std::sync::Arc;

use pacenote_record::{Collector, Delivery, EndedBy, SampleType};
use serde_json::json;

use super::simulation::{MS, Response, SECOND, Simulation, paced, plan, task, timed};
use crate::late_joins::TaskLateJoins;
use crate::plan_to_record::task_infos;

#[test]
fn without_a_schedule_each_operation_begins_when_the_previous_one_has_ended() {
    let mut unpaced = task("search", 1, 2);
    unpaced["bound"]["warmup"] = 1.into();
    let recorded = Simulation::new(&plan(&[unpaced]), |_| Response::success(30 * MS)).run();
    let expected = [(0, 0, 30 * MS), (30 * MS, 30 * MS, 60 * MS), (60 * MS, 60 * MS, 90 * MS)];
    assert_eq!(recorded.times(0), expected);
    let types: Vec<SampleType> = recorded.of(0).map(|sample| sample.sample_type).collect();
    assert_eq!(types, [SampleType::Warmup, SampleType::Measured, SampleType::Measured]);
    let free: Vec<u64> = recorded.of(0).map(|sample| sample.times.free_since_ns).collect();
    assert_eq!(free, [0, 30 * MS, 60 * MS]);
    assert!(recorded.of(0).all(|sample| !sample.times.paced && sample.times.processing_ns == 30 * MS));
    let ended = recorded.ended[&0];
    assert_eq!(
        (ended.ended_by, ended.scheduled, ended.begun, ended.unsent.total),
        (EndedBy::Iterations, Some(3), 3, 0)
    );
}

#[test]
fn operations_within_capacity_are_sent_in_the_nanosecond_in_which_they_are_due() {
    let recorded =
        Simulation::new(&plan(&[paced("search", 3, 7 * MS + 1, 4)]), |_| Response::success(5)).run();
    let expected: Vec<(u64, u64, u64)> =
        (0..12).map(|number| number * (7 * MS + 1)).map(|due| (due, due, due + 5)).collect();
    assert_eq!(recorded.times(0), expected);
    let clients: Vec<u32> = recorded.of(0).map(|sample| sample.client_number).collect();
    assert_eq!(clients, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(recorded.ended[&0].scheduled, Some(12));
}

#[test]
fn every_operation_is_sent_at_its_due_time_or_when_its_client_is_free() {
    for pacing in ["deterministic", "uniform", "poisson"] {
        let mut random = paced("search", 3, 10 * MS, 300);
        random["pacing"]["kind"] = pacing.into();
        // The average load is 70 % of capacity, so that some operations wait for the previous one and some do not.
        let recorded = Simulation::new(&plan(&[random]), |_| Response::success(21 * MS)).run();
        let times = || recorded.of(0).map(|sample| sample.times);
        assert!(
            times().all(|times| times.service_start_ns == times.due_ns.max(times.free_since_ns)),
            "{pacing}"
        );
        assert!(times().all(|times| times.done_ns == times.service_start_ns + 21 * MS), "{pacing}");
        assert!(recorded.of(0).all(|sample| sample.times.lateness_ns() == 0), "{pacing}");
        let waited = recorded.of(0).filter(|sample| sample.times.waited()).count();
        assert_eq!((times().count(), waited > 100), (900, pacing != "deterministic"), "{pacing}");
    }
}

#[test]
fn a_slow_engine_delays_later_operations_and_those_due_after_the_end_of_the_task_are_unsent() {
    let slow = timed(paced("search", 1, 10 * MS, 1), 0, 500 * MS);
    let recorded = Simulation::new(&plan(&[slow]), |_| Response::success(50 * MS)).run();
    let expected: Vec<(u64, u64, u64)> =
        (0..10).map(|number| (number * 10 * MS, number * 50 * MS, (number + 1) * 50 * MS)).collect();
    assert_eq!(recorded.times(0), expected);
    let latencies: Vec<u64> = recorded.of(0).map(|sample| sample.times.latency_ns() / MS).collect();
    assert_eq!(latencies, [50, 90, 130, 170, 210, 250, 290, 330, 370, 410]);
    let ended = recorded.ended[&0];
    assert_eq!(
        (ended.ended_by, ended.begun, ended.unsent.total, ended.scheduled),
        (EndedBy::Time, 10, 40, Some(50))
    );
}

#[test]
fn a_connection_that_is_opened_late_delays_the_request_and_not_its_due_time() {
    let recorded = Simulation::new(&plan(&[paced("search", 1, 10 * MS, 3)]), |attempt| {
        let connect = if attempt.number == 1 { 4 * MS } else { 0 };
        Response { connect, ..Response::success(MS) }
    })
    .run();
    let expected = [(0, 0, MS), (10 * MS, 14 * MS, 15 * MS), (20 * MS, 20 * MS, 21 * MS)];
    assert_eq!(recorded.times(0), expected);
    let lateness: Vec<u64> = recorded.of(0).map(|sample| sample.times.lateness_ns()).collect();
    assert_eq!(lateness, [0, 4 * MS, 0]);
    let processing: Vec<u64> = recorded.of(0).map(|sample| sample.times.processing_ns).collect();
    assert_eq!(processing, [MS, 5 * MS, MS]);
}

#[test]
fn warm_up_ends_with_the_first_operation_that_is_due_at_its_end() {
    let bound = |task| timed(task, 100 * MS, 200 * MS);
    let fast =
        Simulation::new(&plan(&[bound(paced("search", 2, 10 * MS, 1))]), |_| Response::success(MS)).run();
    assert_eq!((fast.warmup(0), fast.times(0).len()), (10, 30));
    let last_warmup = fast.of(0).filter(|sample| sample.sample_type == SampleType::Warmup).last();
    assert_eq!(last_warmup.map(|sample| sample.times.due_ns), Some(90 * MS));
    // An operation that was due during warm-up counts as warm-up, even if it is sent later.
    let slow =
        Simulation::new(&plan(&[bound(paced("search", 1, 10 * MS, 1))]), |_| Response::success(25 * MS));
    let slow = slow.run();
    assert_eq!((slow.warmup(0), slow.times(0).len(), slow.ended[&0].unsent.total), (10, 12, 18));
    assert_eq!(slow.times(0)[9], (90 * MS, 225 * MS, 250 * MS));
    assert_eq!(slow.times(0)[10], (100 * MS, 250 * MS, 275 * MS));
    // Without a schedule, an operation is due when it begins.
    let unpaced =
        Simulation::new(&plan(&[bound(task("search", 1, 1))]), |_| Response::success(30 * MS)).run();
    assert_eq!((unpaced.warmup(0), unpaced.times(0).len()), (4, 10));
    let edge = Simulation::new(&plan(&[bound(task("search", 1, 1))]), |_| Response::success(50 * MS)).run();
    assert_eq!((edge.warmup(0), edge.times(0).len(), edge.end_ns), (2, 6, 300 * MS));
}

#[test]
fn during_ramp_up_each_client_starts_at_its_time_and_does_not_catch_up() {
    let mut ramped = timed(paced("search", 4, 10 * MS, 1), 0, 6 * SECOND);
    ramped["ramp_up_s"] = json!(4.0);
    let recorded = Simulation::new(&plan(&[ramped]), |_| Response::success(MS)).run();
    let in_second =
        |second: u64| recorded.of(0).filter(|one| one.times.service_start_ns / SECOND == second).count();
    assert_eq!((0..6).map(in_second).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
    for client in 0..4 {
        let sent: Vec<u64> =
            recorded.of_client(0, client).map(|one| one.times.service_start_ns).take(3).collect();
        let start = u64::from(client) * (SECOND + 10 * MS);
        assert_eq!(sent, [start, start + 40 * MS, start + 80 * MS]);
    }
    assert!(recorded.of(0).all(|sample| sample.times.service_start_ns == sample.times.due_ns));
}

#[test]
fn without_a_schedule_a_client_starts_at_its_time_in_the_ramp_up() {
    let mut ramped = task("search", 2, 2);
    ramped["ramp_up_s"] = json!(1.0);
    let recorded = Simulation::new(&plan(&[ramped]), |_| Response::success(300 * MS / 2)).run();
    let sent =
        |client| recorded.of_client(0, client).map(|one| one.times.service_start_ns / MS).collect::<Vec<_>>();
    assert_eq!((sent(0), sent(1)), (vec![0, 150], vec![500, 650]));
    // A client is not late for operations that were due before it started.
    assert_eq!(recorded.of_client(0, 1).next().map(|one| one.times.free_since_ns), Some(500 * MS));
}

#[test]
fn a_client_that_comes_from_another_task_skips_operations_that_were_due_before() {
    let tasks = [task("long", 1, 1), paced("paced", 2, 10 * MS, 20)];
    let mut plan = plan(&tasks);
    plan["steps"][0]["client_allocations"] = json!([
        {"client": 0, "allocations": [{"task": 1, "client": 0}]},
        {"client": 1, "allocations": [{"task": 0, "client": 0}, {"task": 1, "client": 1}]},
    ]);
    let simulation = Simulation::new(&plan, |attempt| {
        Response::success(if attempt.id.task_index == 0 { 123 * MS } else { MS })
    });
    let race_state = Arc::clone(&simulation.race_state);
    let recorded = simulation.run();
    assert_eq!(
        race_state.late_joins.of_tasks(),
        [TaskLateJoins { index: 1, clients: 1, missed_s: 0.123, missed_measured_s: 0.123, latest_s: 0.123 }]
    );
    let due = |client| recorded.of_client(1, client).map(|one| one.times.due_ns / MS).collect::<Vec<_>>();
    assert_eq!(due(0), (0..20).map(|number| number * 20).collect::<Vec<_>>());
    assert_eq!(due(1), (6..26).map(|number| 10 + number * 20).collect::<Vec<_>>());
    assert!(
        recorded
            .of(1)
            .all(|one| one.times.service_start_ns == one.times.due_ns && one.times.lateness_ns() == 0)
    );
    assert_eq!(recorded.of_client(1, 1).next().map(|one| one.times.free_since_ns), Some(123 * MS));
}

#[test]
fn a_client_that_is_busy_in_another_task_until_the_end_has_missed_all_of_a_task() {
    // The time of the task ends first, whether or not the step is completed before the client is free, or the step is
    // completed while the client is busy, or when it becomes free. The first 60 ms of the task are its warm-up.
    let completed_by = |task: u32| json!({"kind": "task", "task": task});
    for (completed_by, length, missed_s) in [
        (json!(null), 100 * MS, 0.1),
        (completed_by(2), 100 * MS, 0.1),
        (completed_by(0), SECOND, 0.15),
        (completed_by(2), SECOND, 0.18),
    ] {
        let paced = timed(paced("paced", 2, 10 * MS, 1), 60 * MS, length - 60 * MS);
        let mut plan = plan(&[task("long", 1, 1), paced, task("longer", 1, 1)]);
        plan["steps"][0]["completed_by"] = completed_by;
        plan["steps"][0]["client_allocations"] = json!([
            {"client": 0, "allocations": [{"task": 1, "client": 0}]},
            {"client": 1, "allocations": [{"task": 2, "client": 0}, {"task": 1, "client": 1}]},
            {"client": 2, "allocations": [{"task": 0, "client": 0}]},
        ]);
        let simulation = Simulation::new(&plan, |attempt| {
            Response::success([150 * MS, MS, 180 * MS][attempt.id.task_index as usize])
        });
        let race_state = Arc::clone(&simulation.race_state);
        let recorded = simulation.run();
        assert_eq!(recorded.of_client(1, 1).count(), 0);
        let [joins] = &race_state.late_joins.of_tasks()[..] else { panic!("one task with late clients") };
        assert_eq!((joins.index, joins.clients, joins.missed_s, joins.latest_s), (1, 1, missed_s, missed_s));
        assert!((joins.missed_measured_s - (missed_s - 0.06)).abs() < 1e-9, "{joins:?}");
    }
}

#[test]
fn a_minute_at_125_per_second_is_reported_as_125_in_every_second() {
    let steady = timed(paced("search", 4, 8 * MS, 1), 10 * SECOND, 60 * SECOND);
    let simulation = Simulation::new(&plan(&[steady]), |_| Response::success(3 * MS));
    let (folder, infos) = (tempfile::tempdir().unwrap(), task_infos(&simulation.plan));
    let mut collector = Collector::new(folder.path(), infos).unwrap();
    let buffers = simulation.buffers();
    collector
        .receive(
            Delivery::Begin { task_index: 0, worker_count: 1, queue_count: Some(4), step_began_ns: 0 },
            &buffers,
        )
        .unwrap();
    let mut finished = None;
    for delivery in simulation.run_to_deliveries() {
        finished = collector.receive(delivery, &buffers).unwrap().or(finished);
    }
    let result = finished.unwrap().result;
    let throughput = result.throughput.unwrap();
    assert_eq!((result.operation_totals.warmup, result.operation_totals.measured), (1250, 7500));
    for value in [throughput.min, throughput.median, throughput.mean, throughput.max] {
        assert!((value - 125.0).abs() < 1e-9, "{throughput:?}");
    }
}
