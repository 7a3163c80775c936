//! Operations that a parameter source in Python supplies late or not at all.

use pacenote_record::EndedBy;

use super::simulation::{MS, Response, Simulation, paced, plan, timed};

#[test]
fn an_operation_that_is_queued_late_is_sent_immediately_and_its_wait_is_counted() {
    // The operations are due at 0, 10 and 20 ms and supplied at 0, 70 and 80 ms.
    let delivered = |number: u64| [0, 70 * MS, 80 * MS].get(usize::try_from(number).unwrap()).copied();
    let simulation = Simulation::new(&plan(&[paced("search", 1, 10 * MS, 3)]), |_| Response::success(MS));
    let recorded = simulation.supplied(delivered).run();
    let expected = [(0, 0, MS), (10 * MS, 70 * MS, 71 * MS), (20 * MS, 80 * MS, 81 * MS)];
    assert_eq!(recorded.times(0), expected);
    // The second operation was needed when it was due, and the third when the client became free for it.
    let ended = recorded.ended[&0];
    assert_eq!((ended.underruns, ended.underrun_ns, ended.scheduled), (2, 69 * MS, Some(3)));
}

#[test]
fn a_source_that_ends_early_ends_its_client_without_an_underrun() {
    let simulation = Simulation::new(&plan(&[paced("search", 1, 10 * MS, 30)]), |_| Response::success(MS));
    let recorded = simulation.supplied(|number| (number < 2).then_some(0)).run();
    let ended = recorded.ended[&0];
    assert_eq!((ended.ended_by, ended.begun, ended.scheduled), (EndedBy::Source, 2, Some(2)));
    assert_eq!((ended.underruns, recorded.end_ns), (0, 11 * MS));
}

#[test]
fn a_task_ends_on_time_while_it_waits_for_its_source() {
    for open_loop in [false, true] {
        let mut starved = timed(paced("search", 1, 10 * MS, 1), 0, 100 * MS);
        starved["open_loop"] = open_loop.into();
        let simulation = Simulation::new(&plan(&[starved]), |_| Response::success(MS));
        let recorded = simulation.supplied(|number| Some(number * 1000 * MS)).run();
        let ended = recorded.ended[&0];
        assert_eq!(
            (ended.ended_by, ended.begun, ended.unsent.total),
            (EndedBy::Time, 1, 9),
            "open loop: {open_loop}"
        );
        assert_eq!((ended.underruns, ended.underrun_ns), (1, 90 * MS), "open loop: {open_loop}");
        assert_eq!((ended.scheduled, recorded.end_ns), (Some(10), 100 * MS), "open loop: {open_loop}");
    }
}

/// The source supplies the second operation after the end, and the first response arrives after the end as well: the
/// client is then the first to notice the end, with an empty queue.
#[test]
fn a_task_that_ends_during_an_operation_counts_its_unsent_operations_even_if_its_source_is_late() {
    for open_loop in [false, true] {
        let mut starved = timed(paced("search", 1, 10 * MS, 1), 0, 100 * MS);
        starved["open_loop"] = open_loop.into();
        let simulation = Simulation::new(&plan(&[starved]), |_| Response::success(150 * MS));
        let recorded = simulation.supplied(|number| Some(number * 1000 * MS)).run();
        let ended = recorded.ended[&0];
        assert_eq!(
            (ended.ended_by, ended.begun, ended.unsent.total, ended.scheduled, recorded.end_ns),
            (EndedBy::Time, 1, 9, Some(10), 150 * MS),
            "open loop: {open_loop}"
        );
    }
}
