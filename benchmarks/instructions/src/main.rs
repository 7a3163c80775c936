//! The program that the instruction budget measures: `pacenote-instructions serve CLIENTS` or `pacenote-instructions
//! race PORT KIND OPERATIONS FOLDER`.
//!
//! The server waits until every client has sent a request, then answers all of them. Each client therefore waits
//! exactly once per request, regardless of the speed of either side, and the same work takes the same number of
//! instructions in every run.

mod plan;
mod server;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use pacenote_driver::{Race, RaceEvent, ResponseMemory};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["serve", clients] => serve(clients),
        ["race", port, kind, operations, folder] => race(port, kind, operations, Path::new(folder)),
        _ => Err("usage: serve CLIENTS, or race PORT KIND OPERATIONS FOLDER".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("instructions: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr, reason = "a program reports its errors")]
fn report(text: &str) {
    eprintln!("{text}");
}

fn serve(clients: &str) -> Result<(), Box<dyn Error>> {
    server::serve(clients.parse()?)?;
    Ok(())
}

/// Runs a race of `operations` operations per client, and checks that all of them succeeded.
fn race(port: &str, kind: &str, operations: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let operations: u64 = operations.parse()?;
    let kind = plan::Kind::named(kind).ok_or("KIND is unknown")?;
    let plan = plan::plan(port.parse()?, kind, operations, folder)?;
    let race = Race::start(plan, folder, ResponseMemory::of_process())?;
    let mut succeeded = 0;
    loop {
        for event in race.wait(Duration::from_mins(1)) {
            match event {
                RaceEvent::TaskFinished(result) => succeeded += result.operation_totals.succeeded,
                RaceEvent::Finished(summary) => {
                    let expected = operations * u64::from(kind.clients);
                    return match summary.error.or(summary.aborted) {
                        Some(reason) => Err(reason.into()),
                        None if succeeded == expected => Ok(()),
                        None => Err(format!("{succeeded} of {expected} operations succeeded").into()),
                    };
                }
            }
        }
    }
}
