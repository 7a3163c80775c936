//! Flight Recorder recordings.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::recording::check;

fuzz_target!(|bytes: &[u8]| check(bytes));
