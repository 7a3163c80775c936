//! Whole responses, head and body, to GET and to HEAD: the result does not depend on how they are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{ReadResult, read_with_all_cuts};

fuzz_target!(|bytes: &[u8]| {
    read_with_all_cuts(bytes, false);
    if let ReadResult::Response { body, .. } = read_with_all_cuts(bytes, true) {
        assert!(body.is_empty(), "a response to HEAD has no body");
    }
});
