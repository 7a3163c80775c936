//! One schedule for all driver threads: in an open loop, no operation waits for a thread while a client of another
//! thread is free.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use pacenote_driver::StopLevel;
use pacenote_record::EndedBy;
use serde_json::Value;

use super::{counted, paced};
use crate::support::server::{Answer, response_with_took};
use crate::support::{Finished, Server, plan, request_task, run, run_with};

/// Numbers of driver threads with which every promise of an open loop is tested.
const THREADS: [u32; 3] = [1, 4, 8];

/// Runs an open-loop task on this number of threads.
fn run_open(server: &Server, mut task: Value, threads: u32) -> Finished {
    task["open_loop"] = true.into();
    let mut plan = plan(server.port, &[task]);
    plan["driver"]["threads"] = threads.into();
    run(&plan)
}

/// One connection of eight hangs: the server answers its request only after all other requests of the race have
/// arrived. If any of them waited for the hung connection, both would wait for each other, and the request would time
/// out.
#[test]
fn a_hung_connection_of_eight_delays_no_other_operation() {
    for threads in THREADS {
        for arrivals in ["deterministic", "poisson"] {
            let arrived = AtomicUsize::new(0);
            let server = Server::start(move |_, before| {
                arrived.fetch_add(1, Ordering::SeqCst);
                while before == 10 && arrived.load(Ordering::SeqCst) < 80 {
                    thread::sleep(Duration::from_millis(1));
                }
                response_with_took(before)
            });
            let mut task = counted("search", 8, 200.0, 10);
            task["pacing"]["kind"] = arrivals.into();
            let race = run_open(&server, task, threads);
            let result = race.task("search");
            let totals = result.operation_totals;
            assert_eq!((totals.succeeded, totals.failed, totals.unsent), (80, 0, 0), "{threads} {arrivals}");
            assert_eq!((result.ended_by, result.queue_count), (EndedBy::Iterations, Some(1)));
            let held = race.samples.iter().find(|sample| sample.took == 10).unwrap();
            let after_it = race.samples.iter().filter(|sample| sample.sent > held.done).count();
            assert_eq!(after_it, 0, "{threads} {arrivals}: operations waited for the hung connection");
        }
    }
}

/// The result of a task contains the number of its queues, whatever the number of threads.
#[test]
fn a_result_states_the_number_of_queues() {
    let server = Server::start(|_, before| response_with_took(before));
    for threads in THREADS {
        let of_clients = counted("search", 3, 1000.0, 1);
        let unpaced = request_task("unpaced", 3, 1);
        let mut plan = plan(server.port, &[of_clients.clone(), unpaced]);
        plan["driver"]["threads"] = threads.into();
        let race = run(&plan);
        assert_eq!((race.task("search").queue_count, race.task("unpaced").queue_count), (Some(3), None));
        assert_eq!(run_open(&server, of_clients, threads).task("search").queue_count, Some(1));
    }
}

/// The engine stops responding, and the race is stopped without waiting for it. What became due in the meantime is
/// unsent, although the clients were dropped: at 100/s, at least 30 operations in the 0.3 s after all clients are
/// waiting, or 28 if each of the four has its own schedule.
#[test]
fn a_race_that_is_abandoned_counts_its_backlog() {
    for (open_loop, threads) in [(false, 4), (true, 1), (true, 4), (true, 8)] {
        let server = Server::start(|_, _| Answer::silence());
        let mut task = paced("search", 4, 100.0, (0.0, 60.0));
        task["open_loop"] = open_loop.into();
        let mut plan = plan(server.port, &[task]);
        plan["driver"]["threads"] = threads.into();
        let race = run_with(&plan, |race| {
            while server.requests().len() < 4 {
                thread::sleep(Duration::from_millis(2));
            }
            thread::sleep(Duration::from_millis(300));
            race.stop(StopLevel::Finish);
            race.stop(StopLevel::Abandon);
        });
        let totals = race.task("search").operation_totals;
        assert_eq!((totals.begun, totals.unanswered), (4, 4));
        assert!(totals.unsent >= 28, "open loop: {open_loop}, {threads} threads: {totals:?}");
    }
}
