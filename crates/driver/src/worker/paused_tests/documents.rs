//! Schedules that follow from the documents of the operations.

use pacenote_record::EndedBy;
use serde_json::Value;

use super::simulation::{Attempt, MS, Recorded, Response, SECOND, Simulation, paced, plan, timed};

/// A task whose target is one document per millisecond, with operations of 20 documents in the mean.
fn in_documents(clients: u32, iterations: u64) -> Value {
    let mut task = paced("bulk", clients, 20 * MS, iterations);
    task["documents_per_operation"] = 20.0.into();
    task
}

/// Bulks of 30 documents, each third of which has none of the next file and is therefore shorter.
fn sends(attempt: Attempt) -> Response {
    let documents = if attempt.number % 3 == 2 { 1 } else { 30 };
    Response { documents: Some(documents), ..Response::success(MS) }
}

fn due_ms(recorded: &Recorded, client: u32) -> Vec<u64> {
    recorded.of_client(0, client).map(|sample| sample.times.due_ns / MS).collect()
}

#[test]
fn each_operation_is_due_when_the_documents_before_it_have_had_their_time() {
    let recorded = Simulation::new(&plan(&[in_documents(2, 7)]), sends)
        .with_sizes(|attempt| sends(attempt).documents)
        .run();
    let due: Vec<u64> = recorded.of(0).map(|sample| sample.times.due_ns / MS).collect();
    // The clients send their bulks of 30, 30, 1, 30, 30, 1 and 30 documents in turns.
    assert_eq!(due, [0, 30, 60, 90, 120, 121, 122, 152, 182, 212, 242, 243, 244, 274]);
    assert_eq!(due_ms(&recorded, 1), [30, 90, 121, 152, 212, 243, 274]);
}

#[test]
fn an_operation_with_unknown_documents_has_the_mean_number() {
    let recorded = Simulation::new(&plan(&[in_documents(2, 4)]), |attempt| Response {
        documents: (attempt.number == 1).then_some(50),
        ..Response::success(MS)
    });
    let recorded = recorded.run();
    assert_eq!(due_ms(&recorded, 0), [0, 40, 140, 180]);
    assert_eq!(due_ms(&recorded, 1), [20, 60, 160, 200]);
}

#[test]
fn no_operation_is_due_before_the_one_before_it_although_sizes_are_known_late_or_never() {
    for pacing in ["deterministic", "uniform", "poisson"] {
        let mut task = in_documents(3, 500);
        task["pacing"]["kind"] = pacing.into();
        let sizes = |attempt: Attempt| match attempt.number % 4 {
            0 => Some(100),
            1 => None,
            2 => Some(1),
            _ => Some(3),
        };
        let recorded = Simulation::new(&plan(&[task]), move |attempt| Response {
            documents: sizes(attempt),
            ..Response::success(0)
        })
        .run();
        for client in 0..3 {
            let due: Vec<u64> = recorded.of_client(0, client).map(|sample| sample.times.due_ns).collect();
            assert!(due.is_sorted() && due.len() == 500, "{pacing}");
        }
    }
}

#[test]
fn clients_that_share_a_schedule_and_rates_in_operations_do_not_count_documents() {
    for open_loop in [false, true] {
        let mut task = paced("bulk", 2, 20 * MS, 3);
        task["open_loop"] = open_loop.into();
        let recorded = Simulation::new(&plan(&[task]), sends).run();
        let due: Vec<u64> = recorded.of(0).map(|sample| sample.times.due_ns / MS).collect();
        assert_eq!(due, [0, 20, 40, 60, 80, 100]);
    }
}

#[test]
fn random_arrivals_keep_the_rate_in_documents_and_their_order() {
    for (pacing, sizes_known) in
        [("uniform", true), ("uniform", false), ("poisson", true), ("poisson", false)]
    {
        let mut random = timed(in_documents(2, 1), 0, 400 * SECOND);
        random["pacing"]["kind"] = pacing.into();
        // The first half of each client's bulks are short.
        let half = |attempt: Attempt| if attempt.number < 10_000 { 10 } else { 40 };
        let recorded = Simulation::new(&plan(&[random]), move |attempt| Response {
            documents: Some(half(attempt)),
            ..Response::success(0)
        })
        .with_sizes(move |attempt| sizes_known.then_some(half(attempt)))
        .run();
        for client in 0..2 {
            let due: Vec<u64> = recorded.of_client(0, client).map(|sample| sample.times.due_ns).collect();
            assert!(due.is_sorted(), "{pacing}");
            // 10,000 bulks of 10 documents take 200 s at half a document per millisecond, and one of 40 takes 80 ms.
            let turn_s = due[10_000] as f64 / 1e9;
            assert!((turn_s - 200.0).abs() < 8.0, "{pacing} {turn_s}");
            assert!((2_350..2_650).contains(&(due.len() - 10_000)), "{pacing} {}", due.len());
        }
    }
}

#[test]
fn no_operation_is_due_before_its_client_has_started() {
    let mut ramped = in_documents(4, 8);
    ramped["ramp_up_s"] = 0.4.into();
    let recorded = Simulation::new(&plan(&[ramped]), sends).with_sizes(|_| Some(1)).run();
    for client in 0..4 {
        assert!(due_ms(&recorded, client)[0] >= 100 * u64::from(client), "{client}");
    }
}

#[test]
fn bulks_that_were_not_read_count_as_having_the_mean_number_of_documents() {
    for pacing in ["deterministic", "uniform"] {
        let mut slow = timed(in_documents(1, 1), 0, 500 * MS);
        slow["pacing"]["kind"] = pacing.into();
        let slow_reply = |attempt| Response { service: 100 * MS, ..sends(attempt) };
        let recorded = Simulation::new(&plan(&[slow]), slow_reply).run();
        let ended = recorded.ended[&0];
        assert_eq!((ended.ended_by, ended.begun), (EndedBy::Time, 5), "{pacing}");
        // Five bulks had 121 documents. The remaining 379 of the rate are 19 bulks, the last of which is short.
        assert_eq!(ended.unsent.total, 19, "{pacing}");
    }
}
