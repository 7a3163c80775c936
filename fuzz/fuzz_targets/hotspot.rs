//! Unified GC logs of HotSpot.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::hotspot::check;

fuzz_target!(|bytes: &[u8]| check(bytes));
