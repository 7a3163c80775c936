//! Panics after which a race cannot end by itself end the process.
//!
//! A panic of a worker is reported by the coordinator, which ends the race. If the runtime of a thread fails, as when
//! the Python code of a track closes its descriptor, that thread can neither be woken nor report anything; if the
//! coordinator panics, nothing reports it. The race would never end, so the process does: what was measured is stored.

use std::io::{Write, stderr};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Once;
use std::thread;

use pacenote_driver::SERIES_READER;

use crate::reader_thread::keep_panic;

/// Name of the coordinator's thread.
const COORDINATOR: &str = "pacenote-control";

/// Beginning of the paths of the source files of Pacenote.
const OWN: &str = "crates/";

/// Part of the paths of the source files of the runtime.
const RUNTIME: &str = "/tokio-";

/// Ends the process. Further threads that panic meanwhile wait for that.
static ENDING: Once = Once::new();

/// Makes fatal panics abort the process with one line on standard error. Other panics are handled as before.
pub fn abort_if_fatal() {
    let handle_other = take_hook();
    set_hook(Box::new(move |panic| {
        if keep_panic(panic) {
            return;
        }
        if !is_fatal(panic) {
            if !is_of_damaged_file(panic) {
                handle_other(panic);
            }
            return;
        }
        ENDING.call_once(|| end_process(panic));
    }));
}

fn end_process(panic: &PanicHookInfo<'_>) -> ! {
    let reason = panic.payload_as_str().unwrap_or("without a message").replace('\n', " ");
    // If standard error is closed, the process must end all the same.
    let _ = writeln!(
        stderr(),
        "error: the driver cannot go on: {reason}; Python code of a track must not close descriptors that it has \
         not opened",
    );
    std::process::abort()
}

/// Returns whether a library panicked while it read a series, which is reported as a damaged file.
fn is_of_damaged_file(panic: &PanicHookInfo<'_>) -> bool {
    let is_own = panic.location().is_some_and(|location| location.file().starts_with(OWN));
    thread::current().name() == Some(SERIES_READER) && !is_own
}

fn is_fatal(panic: &PanicHookInfo<'_>) -> bool {
    let in_runtime = panic.location().is_some_and(|location| location.file().contains(RUNTIME));
    in_runtime || thread::current().name() == Some(COORDINATOR)
}
