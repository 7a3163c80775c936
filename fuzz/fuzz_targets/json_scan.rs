//! Bodies of responses, scanned as JSON and compared with serde_json.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::json_scan::check;

fuzz_target!(|bytes: &[u8]| check(bytes));
