//! Verbose GC logs of OpenJ9, whole and in parts.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::openj9::check;

fuzz_target!(|bytes: &[u8]| check(bytes));
